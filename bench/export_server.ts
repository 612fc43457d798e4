/**
 * One server of `export_bench.ts` in a separate process: `export_server.ts ours|whole PATH`. The
 * obvious solution, `whole`, reads all rows and joins them into one string.
 */
import { createApp, openDatabase, resource } from "../mod.ts";
import { openNotes } from "./notes_database.ts";
import { notes } from "./notes_table.ts";

const [side, path] = Deno.args;
if (path === undefined) throw new Error("Usage: export_server.ts ours|whole PATH");
const { fetch } = side === "whole" ? whole(path) : await ours(path);
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request) => fetch(request));

async function ours(path: string): Promise<{ fetch(request: Request): Promise<Response> }> {
  return await createApp({
    db: await openDatabase(`sqlite:${path}`),
    secret: "a secret for the benchmark",
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true } },
        capabilities: { enableExport: true },
      }),
    ],
  });
}

function whole(path: string): { fetch(request: Request): Response } {
  const db = openNotes(path);
  const columns = ["id", "ownerId", "title", "body", "status", "rank", "version", "createdAt"];
  const getAll = db.prepare(
    `SELECT id, owner_id AS ownerId, title, body, status, rank, version, created_at AS createdAt
     FROM notes ORDER BY id`,
  );
  const getOne = db.prepare("SELECT * FROM notes WHERE id = ?");
  return {
    fetch(request) {
      const id = /\/notes\/(\d+)$/.exec(request.url)?.[1];
      if (id !== undefined) return Response.json(getOne.get(id));
      // The cast is safe: the select list of this statement names the columns.
      const rows = getAll.all() as Record<string, unknown>[];
      const lines = rows.map((row) => columns.map((name) => field(row[name])).join(","));
      return new Response([columns.join(","), ...lines, ""].join("\r\n"), {
        headers: { "content-type": "text/csv; charset=utf-8" },
      });
    },
  };
}

function field(value: unknown): string {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
