import { dirname } from "node:path";
import {
  all,
  type App,
  type AppConfig,
  createApp,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../../mod.ts";
import type { Observation } from "../../../src/runtime/runtime.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { scratchFolder } from "../../support/scratch.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

/** The files of a page by their paths in the folder. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** A service with a page. */
export interface PageService {
  readonly app: App;
  /** The folder of the page, whose parent is in a scratch folder, too. */
  readonly folder: string;
  readonly observations: readonly Observation[];
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Response>;
}

export const navigation = { "sec-fetch-mode": "navigate", accept: "text/html,*/*;q=0.8" };

/** A word and a line of HTML for the page. */
export const html = "<!doctype html><title>Notes</title>";

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await Deno.mkdir(dirname(`${folder}/${name}`), { recursive: true });
    if (typeof content === "string") await Deno.writeTextFile(`${folder}/${name}`, content);
    else await Deno.writeFile(`${folder}/${name}`, content);
  }
}

/** Runs `work` with a service of notes that has these files as its page, and `index.html`. */
export async function withPage(
  files: Files,
  config: Partial<AppConfig>,
  work: (service: PageService) => Promise<void>,
): Promise<void> {
  await using scratch = await scratchFolder();
  const folder = `${scratch.path}/web/dist`;
  await writeFiles(folder, { "index.html": html, ...files });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const observations: Observation[] = [];
  const web = typeof config.web === "object" ? { ...config.web, folder } : folder;
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    runtime: systemRuntime((observation) => observations.push(observation)),
    resources: [resource(notes, { id: notes.id, auth: { public: true, create: () => all() } })],
    ...{ ...config, web },
  });
  const get: PageService["get"] = (path, headers = {}, method = "GET") =>
    app.fetch(new Request(`http://localhost${path}`, { headers, method }));
  try {
    await work({ app, folder, observations, get });
  } finally {
    await app.close();
    await db.close();
  }
}

/** The status, and the headers with these names. */
export function shown(response: Response, ...names: readonly string[]): readonly unknown[] {
  return [response.status, ...names.map((name) => response.headers.get(name))];
}
