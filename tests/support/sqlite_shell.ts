/** Why this machine has no `sqlite3` command; null where it has. */
export const missingSqliteShell: string | null = version() === null
  ? "there is no sqlite3 command"
  : null;

/** Runs a script by the `sqlite3` command, as any other program would write the file. */
export async function sqliteShell(
  path: string,
  script: string,
  failures: "failures throw" | "failures pass" = "failures throw",
): Promise<string> {
  const args = [...(failures === "failures throw" ? ["-bail"] : []), path];
  const child = new Deno.Command("sqlite3", {
    args,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  const errors = new TextDecoder().decode(stderr);
  const isWrong = failures === "failures throw" ? !success : /no such|syntax/.test(errors);
  if (isWrong) throw new Error(`sqlite3: ${errors}`);
  return new TextDecoder().decode(stdout);
}

function version(): string | null {
  try {
    const { stdout } = new Deno.Command("sqlite3", { args: ["--version"] }).outputSync();
    return new TextDecoder().decode(stdout);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
