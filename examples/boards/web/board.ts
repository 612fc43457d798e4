/** What the boards of all frameworks share: the client, the outbox and the order of the cards. */
import { createClient, createOutbox, liveList } from "@svc/resource-api-client";
import type { Api } from "./api.d.ts";

export const api = createClient<Api>({ baseUrl: "" });

/** Sends the writes of this page, also later if there is no network. */
export const outbox = createOutbox(api, {
  identity: "guest", // with accounts: the id of the user
  // Another user has changed the card. If the title is the same, only the place differs: it is kept.
  onConflict: ({ base, mine, theirs }) =>
    theirs !== null && mine !== null &&
      (!("title" in mine) || base?.title === theirs.title)
      ? mine
      : null,
});

export const cards = liveList(api.cards, { orderBy: ["rank"] });

export type Card = ReturnType<typeof cards.get>["items"][number];

export const columns = { todo: "To do", doing: "Doing", done: "Done" } as const;
export type Status = keyof typeof columns;

export function add(title: string, status: Status, last?: Card): void {
  outbox.create(api.cards, {
    id: crypto.randomUUID(),
    title,
    status,
    rank: between(last?.rank),
  });
}

/** Moves a card before another one, or to the end of a column. */
export function move(
  card: Card,
  status: Status,
  all: readonly Card[],
  before?: Card,
): void {
  const others = all.filter((one) =>
    one.status === status && one.id !== card.id
  );
  const index = before === undefined ? others.length : others.indexOf(before);
  const rank = between(others[index - 1]?.rank, others[index]?.rank);
  outbox.update(api.cards, card._new ?? card.id, { status, rank });
}

export function rename(card: Card, title: string): void {
  if (title !== card.title) {
    outbox.update(api.cards, card._new ?? card.id, { title });
  }
}

export function remove(card: Card): void {
  outbox.delete(api.cards, card._new ?? card.id);
}

/** Returns a rank between two others. A further letter makes room. */
export function between(before = "", after = ""): string {
  const letter = (place: number) => String.fromCharCode(97 + place);
  for (let rank = "";;) {
    const low = before.charCodeAt(rank.length) - 97 || 0;
    const high = rank.length < after.length
      ? after.charCodeAt(rank.length) - 97
      : 26;
    // Two users who choose the same place at the same time have different ranks.
    if (high - low > 1) {
      return rank + letter((low + high) >> 1) + letter(1 + Math.random() * 25);
    }
    rank += letter(low);
    if (low < high) after = "";
  }
}
