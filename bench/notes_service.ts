/** The service of `http_bench.ts` and `processes_bench.ts`. */
import { all, openDatabase, resource, type ServiceConfig } from "../mod.ts";
import { notes } from "./notes_table.ts";

const identification = { user: { id: "bench" } };

/** Serves the notes of a SQLite file. */
export async function notesService(path: string): Promise<ServiceConfig> {
  return {
    db: await openDatabase(`sqlite:${path}`),
    secret: "a secret for the benchmark",
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true }, create: () => all(), update: () => all() },
        etag: { versionField: notes.version },
      }),
    ],
    auth: { use: [{ name: "bench", identify: () => identification }] },
  };
}
