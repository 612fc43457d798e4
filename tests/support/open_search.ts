import { findProgram } from "./debian_packages.ts";
import { diskFolder } from "./disk.ts";

/** A server of OpenSearch for tests, or why there is none. */
export type OpenSearchServer = { readonly url: string } | { readonly missing: string };

const script = new URL("open_search.sh", import.meta.url).pathname;

/**
 * The server that `OPENSEARCH_URL` names, or one of this process's own: assembled from packages of
 * Maven on first use, kept beside the temporary files of the tests, and ended with the process.
 */
export async function openSearchServer(): Promise<OpenSearchServer> {
  const given = Deno.env.get("OPENSEARCH_URL");
  if (given !== undefined) return { url: given };
  for (const program of ["java", "bash", "curl", "setpriv"]) {
    if (await findProgram([program]) === null) {
      return { missing: `OpenSearch cannot be started: there is no ${program}` };
    }
  }
  const folder = await Deno.makeTempDir({ prefix: "open-search-" });
  const urlFile = `${folder}/url`;
  const server = new Deno.Command("bash", {
    args: [script],
    env: { TMPDIR: diskFolder, OPENSEARCH_URL_FILE: urlFile, OPENSEARCH_HEAP: "384m" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let hasEnded = false;
  void server.status.then(() => hasEnded = true);
  server.unref();
  addEventListener("unload", () => {
    if (!hasEnded) server.kill("SIGTERM");
    Deno.removeSync(folder, { recursive: true });
  });
  for (;;) {
    const url = await readText(urlFile);
    if (url !== null) return { url };
    if (hasEnded) {
      return {
        missing: "OpenSearch cannot be started: it needs Maven's packages and Java 17 to 23",
      };
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function readText(path: string): Promise<string | null> {
  try {
    return (await Deno.readTextFile(path)).trim();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
