import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { uuidV7 } from "../../runtime/uuid_v7.ts";
import { hashOfToken } from "../opaque_token.ts";

/** Returns the epoch (a random string) to which a user's sessions are bound; "" without one. */
export async function readSessionEpoch(store: KeyValue, userId: string): Promise<string> {
  const { value } = await store.get(epochKey(userId));
  return typeof value === "string" ? value : "";
}

/**
 * Starts a new epoch, which ends all sessions of a user, even those that are being started. With
 * `expireInMs`, the epoch is kept until all earlier sessions have expired.
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
