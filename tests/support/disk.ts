/**
 * A folder on a disk, as the system names it: the runner gives tests temporary folders in memory. What is kept
 * for the next run is here, and what programs use that may not do everything: Deno lets no others into `/dev`.
 */
export const diskFolder: string = Deno.env.get("TEST_DISK_FOLDER") ?? Deno.env.get("TMPDIR") ??
  "/tmp";
