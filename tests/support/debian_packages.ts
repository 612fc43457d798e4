/** Programs of the machine that tests need, and their packages on Debian. */

/** Whether packages can be installed: on Debian, as root. */
export async function canInstallOnDebian(): Promise<boolean> {
  return Deno.build.os === "linux" && Deno.uid() === 0 && await exists("/usr/bin/apt-get");
}

/** Whether the packages went in. Without a package mirror their tests are skipped, with a reason. */
export async function installOnDebian(packages: readonly string[]): Promise<boolean> {
  if (!await canInstallOnDebian()) return false;
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  try {
    await runOrThrow("apt-get", ["update", "-q"], { env });
    await runOrThrow("apt-get", [
      ...["install", "-y", "-q", "--no-install-recommends"],
      ...["-o", "DPkg::Options::=--force-confold", ...packages],
    ], { env });
    return true;
  } catch (error) {
    console.error(`${packages.join(", ")} could not be installed: ${error}`);
    return false;
  }
}

/** The first of these programs that is on the `PATH`; null for none. */
export async function findProgram(names: readonly string[]): Promise<string | null> {
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== "");
  for (const path of names.flatMap((name) => folders.map((folder) => `${folder}/${name}`))) {
    if (await exists(path)) return path;
  }
  return null;
}

/** Whether there is such a file or folder. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** Nothing is piped: the server that `pg_ctl` starts would keep the pipe open. */
export async function runOrThrow(
  program: string,
  args: readonly string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env" | "uid" | "gid">,
): Promise<void> {
  const command = new Deno.Command(program, {
    ...options,
    args: [...args],
    stdin: "null",
    stdout: "null",
    stderr: "inherit",
  });
  const { code } = await command.output();
  if (code !== 0) throw new Error(`${program} ended with exit code ${code}`);
}
