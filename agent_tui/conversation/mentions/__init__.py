"""What a text brings along by naming it: `@file`, `@folder/`, `@server:uri`; and what an @ may
become while it is typed."""
