import { type AnnounceRemoval, engineOf } from "../db/engine/engine.ts";
import { openDatabase } from "./open_database.ts";
import { isServerUrl, withParameter } from "./server_url.ts";
import { uninstallApplicationName } from "./postgres/installed/uninstall_from_server.ts";
import { uninstallFromFile } from "./sqlite/installed/uninstall_from_file.ts";

/** Uninstalls the service from the database of a URL. Returns the end of the message to show. */
export async function uninstallFromUrl(url: string, announce: AnnounceRemoval): Promise<string> {
  if (/^(?:node-)?sqlite:/i.test(url)) {
    const path = url.replace(/^[a-z-]+:(?:\/\/)?/i, "");
    const mode = uninstallFromFile(path, announce);
    return mode === null ? "" : `; the journal mode is ${mode}`;
  }
  const db = await openDatabase(
    isServerUrl(url) ? withParameter(url, "application_name", uninstallApplicationName) : url,
  );
  try {
    const { uninstall } = engineOf(db.driver).installed;
    if (uninstall === null) throw new Error(`Cannot uninstall from ${db.label} while it is open`);
    await uninstall(db.driver, announce);
    return "";
  } finally {
    await db.close();
  }
}
