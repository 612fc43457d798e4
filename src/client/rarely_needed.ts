/**
 * Functions that most pages never call, loaded on demand. The module imports no code that the
 * client has already loaded: bundlers would move such code into a further file.
 */
export { reviveDeadJob } from "./outbox/revive_dead_job.ts";
export { resolveConflict } from "./outbox/resolve_conflict.ts";
export { importRows } from "./request/import_rows.ts";
export { mergeUpdate } from "./request/merge_update.ts";
export { solveChallenge } from "./request/challenge.ts";
