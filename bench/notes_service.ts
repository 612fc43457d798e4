/** The service of `http_bench.ts` and `processes_bench.ts`. */
import { all, ne, openDatabase, resource, type ServiceConfig } from "../mod.ts";
import { notes } from "./notes_table.ts";

const identification = { user: { id: "bench" } };

/**
 * Serves the notes of a database: a SQLite file, or the URL of a Postgres database. The notes have
 * live streams, so each write is recorded in the change log.
 */
export async function notesService(path: string): Promise<ServiceConfig> {
  return {
    db: await openNotesDatabase(path),
    secret: "a secret for the benchmark",
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: true, create: () => all(), update: () => all() },
        etag: { versionField: notes.version },
      }),
    ],
    auth: { use: [{ name: "bench", identify: () => identification }] },
  };
}

/** Serves the notes with a scope for each access, and with fields that depend on the user. */
export async function scopedNotesService(
  path: string,
  options: { readonly history?: Record<never, never> } = {},
): Promise<ServiceConfig> {
  const { id, ownerId, title, body, status, rank, version, createdAt } = notes;
  const columns = [id, ownerId, title, body, status, rank, version, createdAt];
  const inScope = () => ne(notes.ownerId, "nobody");
  return {
    ...await notesService(path),
    resources: [
      resource(notes, {
        id: notes.id,
        auth: {
          read: inScope,
          create: inScope,
          update: inScope,
          delete: inScope,
          subscribe: inScope,
        },
        etag: { versionField: notes.version },
        fields: { readable: { all: columns, by: () => columns } },
        ...options,
      }),
    ],
  };
}

function openNotesDatabase(path: string) {
  return openDatabase(path.startsWith("postgres:") ? path : `sqlite:${path}`);
}
