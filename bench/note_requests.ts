/** The requests that write notes, as bytes of HTTP/1.1. */

/** How many notes a database of a benchmark has. */
const rows = 10_000;

const note = JSON.stringify({
  ownerId: "user-1",
  title: "A note from the benchmark",
  body: "Some text",
  status: "published",
  rank: 7,
});

/** Creates a note. */
export function createRequest(): string {
  return `POST /api/notes HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n` +
    `content-length: ${note.length}\r\n\r\n${note}`;
}

/**
 * Makes the PATCHes of one database, with `If-Match`: each row in its turn, so that its version is
 * known and no request has to ask for it.
 */
export function patchRequests(): () => string {
  let turn = 0;
  return () => {
    const body = `{"title":"Title ${turn}"}`;
    const row = 1 + turn * 7919 % rows;
    const version = 1 + Math.floor(turn++ / rows);
    return `PATCH /api/notes/${row} HTTP/1.1\r\nhost: bench\r\n` +
      `if-match: W/"${version}"\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`;
  };
}
