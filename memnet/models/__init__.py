"""Models: encoder, hops and reader joined, trained together and kept in one folder."""
