import { isOnDenoDeploy } from "../runtime/deno_deploy.ts";
import { environment } from "../runtime/system_runtime.ts";

/**
 * Opens a database by URL, and refuses with what to do where its files cannot be kept: on Deno
 * Deploy, whose disk is lost with each instance, or without the permission to use files.
 */
export async function withFilePermission<T>(
  url: string,
  { readOnly = false }: { readonly readOnly?: boolean | undefined },
  open: () => Promise<T>,
): Promise<T> {
  const [, scheme = "", path = ""] = /^([^:]*):(.*)$/s.exec(url) ?? [];
  const isPostgres = /^postgres(?:ql)?$/i.test(scheme);
  if (!isPostgres && !readOnly && path !== ":memory:" && isOnDenoDeploy({ environment })) {
    throw new Error(
      `Cannot open ${url} for writing on Deno Deploy: each instance has a disk of its own, which ` +
        `is lost with it (${openByImport}, or set readOnly)`,
    );
  }
  try {
    return await open();
  } catch (cause) {
    if (!isRefused(cause)) throw cause;
    const reason = isPostgres
      ? `its driver is loaded by path (${openByImport})`
      : `it is kept in files (where there is no disk, ${openByImport})`;
    throw new Error(`Cannot open "${scheme}:" without permission to use files: ${reason}`, {
      cause,
    });
  }
}

const openByImport =
  'use Postgres by openDatabase(await openPostgres(url)), from "@svc/resource-api/postgres"';

function isRefused(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // The import of a module that may not be read fails with a TypeError that has this text alone.
  return error.name === "NotCapable" ||
    (error instanceof TypeError && /^Requires (?:read|write) access/.test(error.message));
}
