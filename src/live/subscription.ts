import type { Position } from "../db/change_log.ts";
import { tellChanges } from "./catch_up.ts";
import type { Channel } from "./channel.ts";
import { commentText, invalidateText, type InvalidationReason, tokenText } from "./frames.ts";
import type { Group, Interest, Member } from "./group.ts";
import { type Cursor, cursorAt } from "./history.ts";
import { LiveStream } from "./live_stream.ts";
import { existingText, type Page, type PageStart } from "./page_reader.ts";

/** Where a stream begins: with all rows, with what comes from now on, or behind a position. */
export type Beginning = "everything" | "now" | "lost" | Position;

/** How far a snapshot has come. */
interface Walk {
  /** Behind which row the next page begins; null for the first. */
  start: PageStart | null;
  /** The next page, where it was read and what was sent is not yet as new as it is. */
  page: Page | null;
  /** Whether it follows an invalidation: its pages must know of what caused that. */
  readonly isAnew: boolean;
}

/**
 * A stream of rows. It reads live as a member of its group, or it is behind: then it goes on by
 * itself whenever its client takes bytes, page by page while the snapshot lasts, and by the changes
 * that it missed after that. So a slow client costs what it has not yet taken of one chunk, and a
 * position.
 */
export class Subscription extends LiveStream implements Member {
  #group: Group;
  #phase: "behind" | "live" = "behind";
  #walk: Walk | null = null;
  /** What was sent knows of all this; null before anything was. */
  #cursor: Cursor | null = null;
  #working: Promise<void> | null = null;
  /** Changes when what is under way counts no more. */
  #round = 0;
  #isNet = false;
  #isRepeat = false;
  /** The reason when history turns out to be lost. */
  #lossReason: InvalidationReason = "slow_consumer";

  /** `ended` is called once, whoever ends it. */
  constructor(
    channel: Channel,
    interest: Interest,
    beginning: Beginning,
    ended: (stream: LiveStream) => void,
  ) {
    super(channel, ended);
    this.#group = channel.router.enter(interest);
    this.#begin(beginning);
  }

  override get interest(): Interest {
    return this.#group.interest;
  }

  override get isLive(): boolean {
    return this.#phase === "live";
  }

  override pull(): Promise<void> | undefined {
    if (this.isClosed || this.#phase !== "behind") return undefined;
    return this.#working ??= this.#work();
  }

  deliver(bytes: Uint8Array, to: Position | null): void {
    if (this.#phase !== "live") return;
    this.enqueue(bytes);
    if (this.hasRoom()) return;
    // Parked: it takes no more part, and catches up when its client has read.
    this.#group.members.delete(this);
    this.#phase = "behind";
    this.#cursor = cursorAt(to ?? this.channel.feed.position);
    this.#isNet = true;
    this.#isRepeat = to === null;
    this.#lossReason = "slow_consumer";
  }

  invalidate(reason: InvalidationReason): void {
    if (this.isClosed) return;
    this.#group.members.delete(this);
    this.#phase = "behind";
    this.#round++;
    this.#begin("anew");
    this.send(invalidateText(reason));
  }

  override move(interest: Interest, reason: InvalidationReason): void {
    if (this.isClosed) return;
    const { router } = this.channel;
    this.#group.members.delete(this);
    router.leave(this.#group);
    this.#group = router.enter(interest);
    this.invalidate(reason);
  }

  override beat(trailer: Uint8Array): void {
    if (!this.hasRoom()) return;
    if (this.#phase === "live") this.enqueue(trailer);
    else this.send(commentText);
  }

  protected override leave(): void {
    this.#round++;
    this.#group.members.delete(this);
    this.channel.router.leave(this.#group);
  }

  #begin(beginning: Beginning | "anew"): void {
    const { feed } = this.channel;
    this.#isNet = false;
    this.#isRepeat = false;
    this.#cursor = null;
    this.#walk = null;
    if (beginning === "everything" || beginning === "anew" || beginning === "lost") {
      this.#walk = { start: null, page: null, isAnew: beginning === "anew" };
      if (beginning === "lost") this.send(invalidateText("history_lost"));
      return;
    }
    const position = beginning === "now" ? feed.position : beginning;
    this.#cursor = cursorAt(position);
    if (beginning === "now") {
      this.send(existingText([], false) + tokenText(this.channel.log.print(position)));
    } else {
      // The connection may have broken behind events of which the token does not know.
      this.#isRepeat = true;
      this.#lossReason = "history_lost";
    }
  }

  async #work(): Promise<void> {
    try {
      while (this.#phase === "behind" && this.hasRoom()) {
        if (this.#walk === null) await this.#follow();
        else await this.#walkOn(this.#walk);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#working = null;
    }
  }

  /** One page of the snapshot, once what was sent before is as new as the page. */
  async #walkOn(walk: Walk): Promise<void> {
    const round = this.#round;
    const { log, feed, history, pages, sizes } = this.channel;
    if (walk.page === null) {
      const page = await pages.read(this.#group, walk.start, await this.#leastKnown(walk));
      if (!await feed.reach(page.position)) throw new Error("The feed does not reach a page");
      if (this.#round !== round) return;
      walk.page = page;
    }
    const { page } = walk;
    if (this.#cursor !== null) {
      const window = await history.read(this.#cursor, sizes.changesAtOnce);
      if (this.#round !== round) return;
      if (window === null) return this.invalidate("slow_consumer");
      if (!window.isEnd) this.#isNet = true;
      // What the page does not know of is read again behind it.
      const changes = window.changes.filter((change) => log.covers(page.position, change));
      if (!await this.#tell(changes, walk.start, round)) return;
      this.#cursor = window.cursor;
      if (window.cursor.within !== null) this.#isRepeat = true;
      if (!window.isEnd) return;
    }
    this.enqueue(page.bytes);
    this.#cursor = cursorAt(page.position);
    this.#isNet = false;
    this.#isRepeat = false;
    walk.page = null;
    walk.start = page.next;
    if (page.next !== null) return;
    this.#walk = null;
    this.send(tokenText(log.print(page.position)));
  }

  /** What the next page must know of; null where any will do. */
  async #leastKnown({ isAnew }: Walk): Promise<Position | null> {
    if (this.#cursor !== null) return this.#cursor.position;
    const { feed } = this.channel;
    // The change that brought the invalidation may be on its way still.
    return isAnew ? await feed.between(() => feed.position) : null;
  }

  /** Some of the changes behind the cursor; at their end the stream is live. */
  async #follow(): Promise<void> {
    const round = this.#round;
    const { log, feed, history, sizes } = this.channel;
    const cursor = this.#cursor ?? cursorAt(feed.position);
    const window = await history.read(cursor, sizes.changesAtOnce);
    if (this.#round !== round) return;
    if (window === null) return this.invalidate(this.#lossReason);
    // A few changes are told one by one, as they would have been; many only by what is left.
    if (!window.isEnd) this.#isNet = true;
    if (!await this.#tell(window.changes, null, round)) return;
    this.#cursor = window.cursor;
    if (window.cursor.within !== null) this.#isRepeat = true;
    else if (window.changes.length > 0) this.send(tokenText(log.print(window.cursor.position)));
    if (!window.isEnd) return;
    const isReached = await feed.reach(window.cursor.position);
    if (this.#round !== round) return;
    // A database that was set back: nobody will ever get to that position.
    if (!isReached) return this.invalidate("history_lost");
    await feed.between(() => this.#join(round));
  }

  /** Sends the events of some changes; false where the stream goes another way meanwhile. */
  async #tell(
    changes: Parameters<typeof tellChanges>[0],
    start: PageStart | null,
    round: number,
  ): Promise<boolean> {
    const { decider } = this.channel;
    // The order of a foreign key may be its collation's: then rows that are still to come in a page
    // are told of as well, and the page says the same once more.
    const upTo = start !== null && decider.knowsKeyOrder(this.interest.table) ? start.key : null;
    const told = await tellChanges(changes, {
      group: this.#group,
      decider,
      isNet: this.#isNet,
      isRepeat: this.#isRepeat,
      upTo,
    });
    if (this.#round !== round) return false;
    if ("reason" in told) {
      this.invalidate(told.reason);
      return false;
    }
    if (told.text !== "") this.send(told.text);
    return true;
  }

  /** Joins the live readers, where nothing has happened since. */
  #join(round: number): void {
    if (this.#round !== round || this.#cursor === null) return;
    const rest = this.channel.history.readMemory(this.#cursor, 1);
    if (rest === null || !rest.isEnd || rest.changes.length > 0) return;
    this.#cursor = null;
    this.#isNet = false;
    this.#isRepeat = false;
    this.#phase = "live";
    this.#group.members.add(this);
  }
}
