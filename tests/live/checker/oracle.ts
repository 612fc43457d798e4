import { exactText, parseExact } from "./exact_text.ts";
import type { Client } from "./client.ts";
import type { Instance } from "./instance.ts";
import { send } from "./writes.ts";

/** What is wrong with what a client holds, held against what a list gives now; or null. */
export async function differenceFromList(
  client: Client,
  instance: Instance,
): Promise<string | null> {
  const { user, place, filter } = client.interest;
  const listed = await listAll(client, instance);
  const held = new Map<string, string>();
  for (const [id, text] of client.replica.rows) {
    // The tag stands in events and in no list.
    const { _etag: tag, ...item } = parseExact(text) as Record<string, unknown>;
    held.set(id, exactText(item));
    if (place !== "things" || tag === `W/"${String(item["version"]).slice(1)}"`) continue;
    return `${user} holds ${id} with the tag ${tag}: ${text}`;
  }
  const about = `${user} follows ${place} where ${filter || "anything"}`;
  for (const [id, text] of listed) {
    const own = held.get(id);
    if (own === undefined) return `${about}, and misses ${text}`;
    if (own !== text) return `${about}, and holds\n${own} for\n${text}`;
  }
  for (const [id, text] of held) {
    if (!listed.has(id)) return `${about}, and still holds ${text}`;
  }
  return null;
}

/** All pages of the same rows, by id. */
async function listAll(client: Client, instance: Instance): Promise<ReadonlyMap<string, string>> {
  const { user, place, filter } = client.interest;
  const items = new Map<string, string>();
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: "7" });
    if (filter !== "") query.set("filter", filter);
    if (cursor !== null) query.set("cursor", cursor);
    const path = `/api/${place}?${query.toString().replaceAll("+", "%20")}`;
    const { status, body } = await send(instance, user, "GET", path);
    if (status !== 200) throw new Error(`The list was answered ${status} ${body}`);
    // The answer of a list has these members.
    const page = parseExact(String(body)) as {
      readonly items: readonly Record<string, unknown>[];
      readonly nextCursor: string | null;
    };
    for (const item of page.items) {
      items.set(exactText(item[place === "things" ? "id" : "code"]), exactText(item));
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return items;
}
