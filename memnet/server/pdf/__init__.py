"""Pictures of the pages of PDF files, with the words of an answer marked."""
