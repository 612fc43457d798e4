/**
 * The reference of `http_bench.ts`: a good engineer's handler for one table, with Hono and
 * better-sqlite3, and the service's headers and pragmas. Do not change it: figures are ratios to
 * it.
 */
import { Hono } from "@hono/hono";
import { openNotes } from "./notes_database.ts";

const headers = {
  "content-type": "application/json",
  "cache-control": "private, no-cache",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};

interface Note {
  readonly id: number;
  readonly ownerId: string;
  readonly title: string;
  readonly body: string;
  readonly status: string;
  readonly rank: number | null;
  readonly version: number;
  readonly createdAt: string;
}

const columns =
  `id, owner_id AS ownerId, title, body, status, rank, version, created_at AS createdAt`;

/** Returns the handler over the database file at `path`. */
export function handWritten(
  path: string,
): { fetch(request: Request): Response | Promise<Response> } {
  const db = openNotes(path);
  const getOne = db.prepare(`SELECT ${columns} FROM notes WHERE id = ?`);
  const getPage = db.prepare(
    `SELECT ${columns} FROM notes WHERE status = ? AND rank > ? AND (rank, id) > (?, ?)
     ORDER BY rank, id LIMIT ?`,
  );
  const insert = db.prepare(
    `INSERT INTO notes (owner_id, title, body, status, rank, version, created_at)
     VALUES (?, ?, ?, ?, ?, 1, ?) RETURNING ${columns}`,
  );
  const update = db.prepare(
    `UPDATE notes SET title = ?, version = version + 1 WHERE id = ? AND version = ?
     RETURNING ${columns}`,
  );
  const countOf = db.prepare(`SELECT count(*) AS count FROM notes WHERE rank > ?`);
  const groups = db.prepare(
    `SELECT status, count(*) AS count, avg(rank) AS avg FROM notes WHERE rank > ?
     GROUP BY status ORDER BY status`,
  );
  const app = new Hono();

  app.get("/api/notes/:id", (c) => {
    const id = Number(c.req.param("id"));
    const note = Number.isSafeInteger(id) ? getOne.get(id) : undefined;
    if (note === undefined) return new Response(`{"error":"not found"}`, { status: 404, headers });
    return new Response(JSON.stringify(note), { headers });
  });

  app.get("/api/aggregate", (c) => {
    // The cast is safe: the rows of this statement have these columns.
    const rows = groups.all(Number(c.req.query("over") ?? 0)) as {
      readonly status: string;
      readonly count: number;
      readonly avg: number | null;
    }[];
    const answer = rows.map(({ status, count, avg }) => ({
      key: { status },
      count,
      avg: { rank: avg },
    }));
    return new Response(JSON.stringify({ groups: answer, hasMore: false }), { headers });
  });

  app.get("/api/count", (c) => {
    // The cast is safe: the row of this statement has this column.
    const { count } = countOf.get(Number(c.req.query("over") ?? 0)) as { readonly count: number };
    return new Response(JSON.stringify({ count }), { headers });
  });

  app.get("/api/notes", (c) => {
    const limit = Math.min(Number(c.req.query("limit") ?? 20), 100);
    const status = c.req.query("status") ?? "published";
    const over = Number(c.req.query("over") ?? 0);
    const cursor = c.req.query("cursor");
    const [rank, id] = cursor === undefined ? [-1, 0] : JSON.parse(atob(cursor)) as number[];
    // The cast is safe: the select list above names the columns of a note.
    const notes = getPage.all(status, over, rank, id, limit + 1) as Note[];
    const hasMore = notes.length > limit;
    const items = hasMore ? notes.slice(0, limit) : notes;
    const last = items.at(-1);
    const nextCursor = hasMore && last !== undefined
      ? btoa(JSON.stringify([last.rank, last.id]))
      : null;
    return new Response(JSON.stringify({ items, nextCursor, hasMore }), { headers });
  });

  app.post("/api/notes", async (c) => {
    const body = await c.req.json();
    if (typeof body.title !== "string" || typeof body.ownerId !== "string") {
      return new Response(`{"error":"title and ownerId are required"}`, { status: 422, headers });
    }
    // The cast is safe: the select list above names the columns of a note.
    const note = insert.get(
      body.ownerId,
      body.title,
      body.body ?? "",
      body.status ?? "draft",
      body.rank ?? null,
      new Date().toISOString(),
    ) as Note;
    return new Response(JSON.stringify(note), {
      status: 201,
      headers: { ...headers, location: `/api/notes/${note.id}` },
    });
  });

  app.patch("/api/notes/:id", async (c) => {
    const id = Number(c.req.param("id"));
    const version = Number(/^W\/"(\d+)"$/.exec(c.req.header("if-match") ?? "")?.[1]);
    const { title } = await c.req.json();
    if (typeof title !== "string") {
      return new Response(`{"error":"title is required"}`, { status: 422, headers });
    }
    // The cast is safe: the select list above names the columns of a note.
    const note = update.get(title, id, version) as Note | undefined;
    if (note === undefined) {
      const status = getOne.get(id) === undefined ? 404 : 412;
      return new Response(`{"error":"not found, or changed since"}`, { status, headers });
    }
    return new Response(JSON.stringify(note), {
      headers: { ...headers, etag: `W/"${note.version}"` },
    });
  });

  return app;
}
