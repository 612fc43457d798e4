/** The requests for notes, as bytes of HTTP/1.1. */

/** The number of notes in the database of a benchmark. */
const rows = 10_000;

const note = JSON.stringify({
  ownerId: "user-1",
  title: "A note from the benchmark",
  body: "Some text",
  status: "published",
  rank: 7,
});

/** Returns a request for one note, another note in each turn. */
export function getRequest(turn: number): string {
  return `GET /api/notes/${1 + turn * 7919 % rows} HTTP/1.1\r\nhost: bench\r\n\r\n`;
}

/** Returns a request for twenty notes, with another filter in each turn. */
export function listRequest(turn: number): string {
  const filter = `filter=status==published;rank%3E${turn % 900}`;
  return `GET /api/notes?${filter}&orderBy=rank&limit=20 HTTP/1.1\r\nhost: bench\r\n\r\n`;
}

/** Returns a request that creates a note. */
export function createRequest(): string {
  return `POST /api/notes HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n` +
    `content-length: ${note.length}\r\n\r\n${note}`;
}

/** Returns a function that creates the PATCH requests of one database, with `If-Match`. */
export function patchRequests(): () => string {
  const nextRow = rowsInTurn(rows);
  let turn = 0;
  return () => {
    const { row, version } = nextRow();
    const body = `{"title":"Title ${turn++}"}`;
    return `PATCH /api/notes/${row} HTTP/1.1\r\nhost: bench\r\n` +
      `if-match: W/"${version}"\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`;
  };
}

/** Returns a function for the next row and its version. Nothing else may change the rows. */
export function rowsInTurn(
  count: number,
): () => { readonly row: number; readonly version: number } {
  let turn = 0;
  return () => {
    const row = 1 + turn * 7919 % count;
    return { row, version: 1 + Math.floor(turn++ / count) };
  };
}

/** Returns a function that creates DELETE requests, from note 100,000 down. */
export function deleteRequests(): () => string {
  let id = 100_000;
  return () => `DELETE /api/notes/${id--} HTTP/1.1\r\nhost: bench\r\n\r\n`;
}
