/** The service of `http_bench.ts` and `processes_bench.ts`. */
import { all, openDatabase, resource, type ServiceConfig } from "../mod.ts";
import { notes } from "./notes_table.ts";

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
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "bench" });
        await next();
      },
    },
  };
}
