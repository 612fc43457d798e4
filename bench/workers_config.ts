/** The configuration of several workers in `processes_bench.ts`: NOTES_PATH names their file. */
import type { ServiceConfig } from "../mod.ts";
import { notesService } from "./notes_service.ts";

const path = Deno.env.get("NOTES_PATH");
if (path === undefined) throw new Error("NOTES_PATH is not set");

const config: ServiceConfig = { ...await notesService(path), kv: `${path}.kv` };

export default config;
