import { exists, findProgram, runOrThrow } from "../support/debian_packages.ts";
import { diskFolder } from "../support/disk.ts";
import { startChild } from "../serve/child_process.ts";

const version = "4.32.5";
const cli = new URL("../../cli.ts", import.meta.url).pathname;

/**
 * Not every text is a filter, a cursor or an `include`, and rows may conflict with others: refusals
 * of valid data are documented, and no fault.
 */
const settings = `[checks]
positive_data_acceptance.expected-statuses = [
  "2xx", "304", "400", "401", "403", "404", "409", "412", "422",
]
`;

/** The program, or why there is none. */
export type Schemathesis = { readonly program: string } | { readonly missing: string };

/**
 * The program on the `PATH`, or one that is installed from PyPI on first use, and kept beside the
 * temporary files.
 */
export async function findSchemathesis(): Promise<Schemathesis> {
  const found = await findProgram(["schemathesis"]);
  if (found !== null) return { program: found };
  const python = await findProgram(["python3"]);
  if (python === null) return { missing: "Schemathesis cannot be installed: there is no python3" };
  const folder = `${diskFolder}/resource-api-schemathesis-${version}-${Deno.uid()}`;
  const program = `${folder}/bin/schemathesis`;
  if (await exists(program)) return { program };
  try {
    await runOrThrow(python, ["-m", "venv", folder], {});
    const packages = ["install", "--quiet", `schemathesis==${version}`];
    await runOrThrow(`${folder}/bin/pip`, packages, {});
    return { program };
  } catch {
    return { missing: "Schemathesis cannot be installed from PyPI" };
  }
}

/** What is checked, and how long. */
export interface SchemathesisRun {
  readonly program: string;
  /** For the service and the settings; nothing is left to others in it. */
  readonly folder: string;
  /** Of `cli.ts`; none serves the demonstration. */
  readonly service: readonly string[];
  /** For each operation. */
  readonly examples: string;
  readonly seed: string;
}

/**
 * Starts a service with writes and checks its answers against its document. Gives what was printed,
 * and whether there was no 5xx, no undocumented status and no answer that violates its schema.
 */
export async function checkBySchemathesis(
  { program, folder, service, examples, seed }: SchemathesisRun,
): Promise<{ readonly success: boolean; readonly printed: string }> {
  await using child = startChild([cli, ...service, "--port", "0"], {
    cwd: folder,
    maxLifeMs: 3_600_000,
  });
  const [, url = ""] = await child.printed(/(http:\/\/[^/]+)\/api/);
  const [, token = ""] = await child.printed(/Bearer ([\w-]+)/);
  const file = `${folder}/schemathesis.toml`;
  await Deno.writeTextFile(file, settings);
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args: [
      ...["--config-file", file, "run", `${url}/__service/openapi.json`, "--url", url],
      ...["-H", `Authorization: Bearer ${token}`, "--checks", "all", "--seed", seed],
      ...["--max-examples", examples, "--phases", "examples,coverage,fuzzing,stateful"],
      // Streams do not end, and a NUL is in no text of any database.
      ...["--exclude-path-regex", "subscribe", "--generation-allow-x00", "false", "--no-color"],
    ],
    cwd: folder,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { success, printed: decoder.decode(stdout) + decoder.decode(stderr) };
}
