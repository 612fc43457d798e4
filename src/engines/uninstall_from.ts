import type { AnnounceRemoval } from "../db/engine/engine.ts";
import { engineOf } from "../db/engine/engine_of.ts";
import { openDatabase } from "./open_database.ts";
import { uninstallApplicationName } from "./postgres/installed/uninstall_from_server.ts";
import { uninstallFromFile } from "./sqlite/installed/uninstall_from_file.ts";

/** Uninstalls the service from the database of a URL. Returns the last part of the message. */
export async function uninstallFromUrl(url: string, announce: AnnounceRemoval): Promise<string> {
  if (/^(?:node-)?sqlite:/i.test(url)) {
    const path = url.replace(/^[a-z-]+:(?:\/\/)?/i, "");
    const mode = uninstallFromFile(path, announce);
    return mode === null ? "" : `; the journal mode is ${mode}`;
  }
  const isServer = /^postgres(?:ql)?:/i.test(url);
  const name = `application_name=${encodeURIComponent(uninstallApplicationName)}`;
  const db = await openDatabase(isServer ? `${url}${url.includes("?") ? "&" : "?"}${name}` : url);
  try {
    const { uninstall } = engineOf(db.driver).installed;
    if (uninstall === null) throw new Error(`Cannot uninstall from ${db.label} while it is open`);
    await uninstall(db.driver, announce);
    return "";
  } finally {
    await db.close();
  }
}
