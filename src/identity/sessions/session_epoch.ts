import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { uuidV7 } from "../../runtime/uuid_v7.ts";
import { hashOfToken } from "../opaque_token.ts";

/** Returns the epoch to which a user's sessions are bound, or an empty string if none is stored. */
export async function readSessionEpoch(store: KeyValue, userId: string): Promise<string> {
  const { value } = await store.get(epochKey(userId));
  return typeof value === "string" ? value : "";
}

/**
 * Starts a new epoch of a user, which ends all sessions, even those that start concurrently. With
 * `expireInMs`, the epoch expires when no earlier session can remain.
 */
export async function beginSessionEpoch(
  store: KeyValue,
  userId: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
  expireInMs?: number,
): Promise<void> {
  const value = uuidV7(clock, random);
  const record = { kind: "set", key: epochKey(userId), value } as const;
  await store.commit({
    mutations: [expireInMs === undefined ? record : { ...record, expireInMs }],
  });
}

function epochKey(userId: string): KeyValueKey {
  return ["session-epoch", hashOfToken(userId)];
}
