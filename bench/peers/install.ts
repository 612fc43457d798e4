/** Runs an npm command in a folder. */
export async function npm(
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  await runCommand(["npm", ...args, "--loglevel", "error", "--prefix", folder], { env });
}

/** Runs a command to its end. If the command fails, throws an Error with its output. */
export async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  options: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, ...options })
    .output();
  const printed = new TextDecoder().decode(stdout);
  if (success) return printed;
  throw new Error(`${program} ${args.join(" ")}: ${printed}${new TextDecoder().decode(stderr)}`);
}

/** Returns true if a path exists. */
export async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
