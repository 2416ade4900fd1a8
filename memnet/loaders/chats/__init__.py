"""Chats: exports of messengers and assistants, and transcripts."""
