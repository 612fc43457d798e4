import { Problem } from "../../problem/problem.ts";

export interface LiveSubscription {
  /** The client's name for the subscription. Every event of the subscription contains the name. */
  readonly key: string;
  readonly path: string;
  /** The resume token of an earlier stream, or null to begin with a snapshot of the rows. */
  readonly resumeFrom: string | null;
}

export const maxSubscriptions = 50;

export function parseLiveSubscriptions(body: unknown): readonly LiveSubscription[] {
  const given = membersOf(body)["subscriptions"];
  if (!Array.isArray(given) || given.length === 0) {
    throw unusable("it must be an object with a list of subscriptions, at least one");
  }
  if (given.length > maxSubscriptions) {
    throw unusable(`it has more than ${maxSubscriptions} subscriptions`, {
      limit: maxSubscriptions,
    });
  }
  const subscriptions = given.map(parseSubscription);
  const keys = new Set<string>();
  for (const [index, { key }] of subscriptions.entries()) {
    if (keys.has(key)) throw unusable(`two subscriptions have the key of this one`, { index });
    keys.add(key);
  }
  return subscriptions;
}

function parseSubscription(given: unknown, index: number): LiveSubscription {
  const { key, path, resumeFrom = null } = membersOf(given);
  if (typeof key !== "string" || !/^[\x20-\x7e]{1,64}$/.test(key)) {
    throw unusable("the key of a subscription must be 1 to 64 printable ASCII characters", {
      index,
    });
  }
  if (typeof path !== "string" || !path.startsWith("/")) {
    throw unusable('the path of a subscription must be a string that begins with "/"', { index });
  }
  // `resumeFrom` replaces the header `Last-Event-ID`, so only characters of headers are allowed.
  if (resumeFrom !== null && !isToken(resumeFrom)) {
    throw unusable("resumeFrom must be a resume token", { index });
  }
  return { key, path, resumeFrom };
}

function isToken(given: unknown): given is string {
  return typeof given === "string" && /^[\x21-\x7e]{1,4096}$/.test(given);
}

function membersOf(given: unknown): Readonly<Record<string, unknown>> {
  return typeof given === "object" && given !== null && !Array.isArray(given)
    ? Object.fromEntries(Object.entries(given))
    : {};
}

function unusable(why: string, details?: Readonly<Record<string, unknown>>): Problem {
  return new Problem("invalid-body", `Cannot use this body: ${why}`, { details });
}
