/**
 * The reference of `http_bench.ts postgres`: a good engineer's handler for one table, with Hono,
 * postgres.js and prepared statements. It sends the response headers of the service. Do not change
 * it: figures are ratios to it.
 */
import { Hono } from "@hono/hono";
import postgres from "postgres";

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
  readonly createdAt: Date;
}

/** Returns the handler over the database at `url`. */
export function handWrittenPostgres(
  url: string,
): { fetch(request: Request): Response | Promise<Response> } {
  const sql = postgres(url, {
    max: 10,
    onnotice: () => {},
    // Without this setting, 64-bit integers would be strings.
    types: { int8: { to: 20, from: [20], serialize: String, parse: Number } },
  });
  const columns = sql`id, owner_id AS "ownerId", title, body, status, rank, version,
    created_at AS "createdAt"`;
  // The rights of the user, equal to the scopes of the service.
  const isInScope = (user: string) => sql`owner_id <> ${user}`;
  const app = new Hono();

  app.get("/api/notes/count", async (c) => {
    const over = Number(c.req.query("over") ?? 0);
    const [row] = await sql<{ readonly count: number }[]>`
      SELECT count(*)::int AS count FROM notes
      WHERE rank > ${over} AND ${isInScope("nobody")}`;
    return new Response(JSON.stringify({ count: row?.count ?? 0 }), { headers });
  });

  app.get("/api/notes/aggregate", async (c) => {
    const over = Number(c.req.query("over") ?? 0);
    const rows = await sql<
      { readonly status: string; readonly count: number; readonly avg: number | null }[]
    >`
      SELECT status, count(*)::int AS count, avg(rank)::float8 AS avg FROM notes
      WHERE rank > ${over} AND ${isInScope("nobody")} GROUP BY status ORDER BY status`;
    const groups = rows.map(({ status, count, avg }) => ({
      key: { status },
      count,
      avg: { rank: avg },
    }));
    return new Response(JSON.stringify({ groups, hasMore: false }), { headers });
  });

  app.get("/api/notes/:id", async (c) => {
    const id = Number(c.req.param("id"));
    const [note] = Number.isSafeInteger(id)
      ? await sql<Note[]>`
        SELECT ${columns} FROM notes WHERE id = ${id} AND ${isInScope("nobody")}`
      : [];
    if (note === undefined) return new Response(`{"error":"not found"}`, { status: 404, headers });
    return new Response(JSON.stringify(note), {
      headers: { ...headers, etag: `W/"${note.version}"` },
    });
  });

  app.get("/api/notes", async (c) => {
    const limit = Math.min(Number(c.req.query("limit") ?? 20), 100);
    const status = c.req.query("status") ?? "published";
    const over = Number(c.req.query("over") ?? 0);
    const cursor = c.req.query("cursor");
    const [rank = 0, id = 0] = cursor === undefined ? [] : JSON.parse(atob(cursor)) as number[];
    const after = cursor === undefined ? sql`true` : sql`(rank, id) > (${rank}, ${id})`;
    const notes = await sql<Note[]>`
      SELECT ${columns} FROM notes
      WHERE status = ${status} AND rank > ${over} AND ${after}
        AND ${isInScope("nobody")}
      ORDER BY rank, id LIMIT ${limit + 1}`;
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
    if (body.ownerId === "nobody") {
      return new Response(`{"error":"not yours"}`, { status: 403, headers });
    }
    const [note] = await sql<Note[]>`
      INSERT INTO notes (owner_id, title, body, status, rank, version, created_at)
      VALUES (${body.ownerId}, ${body.title}, ${body.body ?? ""}, ${body.status ?? "draft"},
        ${body.rank ?? null}, 1, ${new Date()})
      RETURNING ${columns}`;
    return new Response(JSON.stringify(note), {
      status: 201,
      headers: { ...headers, location: `/api/notes/${note?.id}`, etag: `W/"1"` },
    });
  });

  app.patch("/api/notes/:id", async (c) => {
    const id = Number(c.req.param("id"));
    const ifMatch = c.req.header("if-match");
    const version = Number(/^W\/"(\d+)"$/.exec(ifMatch ?? "")?.[1]);
    const { title } = await c.req.json();
    if (typeof title !== "string") {
      return new Response(`{"error":"title is required"}`, { status: 422, headers });
    }
    const [note] = await sql<Note[]>`
      UPDATE notes SET title = ${title}, version = version + 1
      WHERE id = ${id} AND version = ${version} AND ${isInScope("nobody")} RETURNING ${columns}`;
    if (note === undefined) {
      const found = await sql`SELECT 1 FROM notes WHERE id = ${id}`;
      const status = found.length === 0 ? 404 : 412;
      return new Response(`{"error":"not found, or changed since"}`, { status, headers });
    }
    return new Response(JSON.stringify(note), {
      headers: { ...headers, etag: `W/"${note.version}"` },
    });
  });

  app.delete("/api/notes/:id", async (c) => {
    const { count } = await sql`
      DELETE FROM notes WHERE id = ${Number(c.req.param("id"))} AND ${isInScope("nobody")}`;
    if (count === 0) return new Response(`{"error":"not found"}`, { status: 404, headers });
    return new Response(null, { status: 204, headers });
  });

  return app;
}
