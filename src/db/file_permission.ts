import { isOnDenoDeploy } from "../runtime/deno_deploy.ts";
import { environmentVariable } from "../runtime/system_runtime.ts";

/** Opens a database by URL. If the program may not use files, the error says what to do. */
export async function withFilePermission<T>(
  url: string,
  { readOnly = false }: { readonly readOnly?: boolean | undefined },
  open: () => Promise<T>,
): Promise<T> {
  const [, scheme = "", path = ""] = /^([^:]*):(.*)$/s.exec(url) ?? [];
  const isInFile = /^(?:(?:node-)?sqlite|pglite)$/i.test(scheme) && path !== ":memory:";
  if (isInFile && !readOnly && isOnDenoDeploy({ environment: environmentVariable })) {
    throw new Error(
      `Cannot open ${url} for writing on Deno Deploy: each instance has a disk of its own, which ` +
        `is lost with it (${usePostgres}, or set readOnly)`,
    );
  }
  try {
    return await open();
  } catch (cause) {
    if (!(cause instanceof Error) || cause.name !== "NotCapable") throw cause;
    throw new Error(
      `Cannot open "${scheme}:" without permission to use files: allow it, as deno run -A does ` +
        `(where there is no disk, ${usePostgres})`,
      { cause },
    );
  }
}

const usePostgres =
  'use Postgres by openDatabase(await openPostgres(url)), from "@svc/resource-api/postgres"';
