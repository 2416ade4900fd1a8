"""Tables: spreadsheets and delimited text."""
