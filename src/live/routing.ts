import type { Change, ChangeLog, Position } from "../db/change_log.ts";
import { numberOf } from "../db/change_position.ts";
import type { RowImage } from "../filter/row_image.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Decider } from "./decider.ts";
import type { FanOut } from "./fan_out.ts";
import type { Tick } from "./feed.ts";
import { FrameMaker } from "./frame_maker.ts";
import { type InvalidationReason, toBytes, tokenText } from "./frames.ts";
import type { Group } from "./group.ts";
import type { Marks } from "./mark.ts";
import { type MaybePromise, then } from "./maybe_promise.ts";
import { eventKind, netPassages, type Passage, passageOf, type RowEvent } from "./passage.ts";
import type { Showing } from "./showing.ts";
import { Touches } from "./touches.ts";

/** What the way of a tick takes. */
export interface RoutingOptions {
  readonly decider: Decider;
  readonly log: ChangeLog;
  readonly marks: Marks;
  /** Holds a decision of memory against the database, in its own time. */
  check(group: Group, passage: Passage): void;
}

/** One tick on its way: first what it is to whom, then the frames, then the deliveries. */
export class Routing {
  readonly #options: RoutingOptions;
  readonly #tick: Tick;
  readonly #events = new Map<Group, (RowEvent | null)[]>();
  readonly #questions = new Map<TableInfo, Question[]>();
  readonly #invalid = new Map<Group, InvalidationReason>();
  /** What passed by the groups that show related rows. */
  readonly #whole = new Map<Group, Passage[]>();
  readonly #touches = new Touches();
  readonly #fanOut: FanOut;

  constructor(options: RoutingOptions, tick: Tick, fanOut: FanOut) {
    this.#options = options;
    this.#tick = tick;
    this.#fanOut = fanOut;
  }

  invalidate(group: Group, reason: InvalidationReason): void {
    if (!this.#invalid.has(group)) this.#invalid.set(group, reason);
  }

  /** A row passes by a group. */
  meet(group: Group, passage: Passage): void {
    if (group.showing === null) this.#judge(group, passage);
    // What a step does is told once, with what is shown under a row when it is over.
    else if (this.#tick.to === null) {
      const { before, after } = passage;
      const isSeen = [before, after].some((image) =>
        image !== null && group.decide(image) !== false
      );
      if (isSeen) this.invalidate(group, "relation_overflow");
    } else {
      const passages = this.#whole.get(group);
      if (passages === undefined) this.#whole.set(group, [passage]);
      else passages.push(passage);
    }
  }

  /** Something has changed that is shown under rows. */
  touch(showing: Showing, change: Change): void {
    if (change.kind === "truncate" || change.kind === "touch") return this.#overflow(showing);
    this.#touches.add(change, showing);
  }

  /** Tells everybody. Waits only where the database must decide, or related rows are loaded. */
  finish(): MaybePromise<void> {
    return then(this.#meetTouched(), () => {
      for (const [group, passages] of this.#whole) {
        for (const passage of netPassages(passages, group.interest.table)) {
          this.#judge(group, passage);
        }
      }
      if (this.#questions.size === 0) return this.#show();
      return this.#ask().then(() => this.#show());
    });
  }

  #overflow({ groups }: Showing): void {
    for (const group of groups) this.invalidate(group, "relation_overflow");
  }

  #meetTouched(): MaybePromise<void> {
    if (this.#touches.isEmpty) return;
    const { to } = this.#tick;
    if (to !== null) return this.#findTouched(to);
    for (const showing of this.#touches.showings) this.#overflow(showing);
  }

  async #findTouched(to: Position): Promise<void> {
    try {
      const { rows, overflowing } = await this.#touches.find(
        this.#options.log,
        this.#tick.changes,
        to,
      );
      for (const showing of overflowing) this.#overflow(showing);
      for (const { row, showings } of rows) {
        const passage = passageOf(row, numberOf(to));
        for (const { index } of showings) {
          index.visit(passage, (group) => {
            if (group.isFollowed) this.meet(group, passage);
          });
        }
      }
    } catch (error) {
      this.#fail([...this.#touches.showings].flatMap(({ groups }) => [...groups]), error);
    }
  }

  #judge(group: Group, passage: Passage): void {
    const before = passage.before === null ? false : group.decide(passage.before);
    const after = answerAfter(group, passage, before);
    if (this.#options.decider.isToBeChecked()) this.#options.check(group, passage);
    if (before === null || after === null) {
      const { table } = group.interest;
      const questions = this.#questions.get(table) ?? [];
      this.#questions.set(table, questions);
      questions.push({ group, passage, place: this.#place(group, null) });
      return;
    }
    const kind = eventKind(before, after);
    if (kind !== null) this.#place(group, { kind, passage });
  }

  #place(group: Group, event: RowEvent | null): number {
    const events = this.#events.get(group);
    if (events !== undefined) return events.push(event) - 1;
    this.#events.set(group, [event]);
    return 0;
  }

  async #ask(): Promise<void> {
    for (const [table, questions] of this.#questions) {
      try {
        await this.#askFor(table, questions);
      } catch (error) {
        this.#fail(questions.map(({ group }) => group), error);
      }
    }
  }

  async #askFor(table: TableInfo, questions: readonly Question[]): Promise<void> {
    const images = new Map<RowImage, number>();
    const filters = new Map<Group, number>();
    for (const { group, passage: { before, after } } of questions) {
      if (!filters.has(group)) filters.set(group, filters.size);
      for (const image of [before, after]) {
        if (image !== null && !images.has(image)) images.set(image, images.size);
      }
    }
    const asked = [...filters.keys()].map(({ interest }) => interest.filter);
    const answers = await this.#options.decider.ask(table, [...images.keys()], asked);
    const passes = (image: RowImage | null, group: Group) =>
      image !== null && answers[images.get(image) ?? -1]?.[filters.get(group) ?? -1] === true;
    for (const { group, passage, place } of questions) {
      const kind = eventKind(passes(passage.before, group), passes(passage.after, group));
      const events = this.#events.get(group);
      if (kind !== null && events !== undefined) events[place] = { kind, passage };
    }
  }

  /** Frames are made for views: groups of one view share them. */
  #show(): MaybePromise<void> {
    const makers = new Map<string, FrameMaker>();
    const { to } = this.#tick;
    for (const [group, events] of this.#events) {
      // Whoever watches is shown nothing.
      if (group.members.size === 0) continue;
      const { interest, showing, viewKey } = group;
      const seq = showing === null || to === null ? null : numberOf(to);
      const maker = makers.get(viewKey) ?? new FrameMaker(interest, seq);
      makers.set(viewKey, maker);
      for (const event of events) if (event !== null) maker.want(event);
    }
    const prepared = [...makers.values()].map((maker) => maker.prepare());
    const waiting = prepared.filter((one) => one instanceof Promise);
    if (waiting.length === 0) return this.#deliver(makers);
    return this.#prepareAll(makers, prepared).then(() => this.#deliver(makers));
  }

  async #prepareAll(
    makers: ReadonlyMap<string, FrameMaker>,
    prepared: readonly MaybePromise<void>[],
  ): Promise<void> {
    const outcomes = await Promise.allSettled(prepared);
    [...makers].forEach(([key, { isTooMuch }], index) => {
      const outcome = outcomes[index];
      const groups = () => [...this.#events.keys()].filter(({ viewKey }) => viewKey === key);
      if (outcome?.status === "rejected") this.#fail(groups(), outcome.reason);
      else if (isTooMuch) {
        for (const group of groups()) this.invalidate(group, "relation_overflow");
      }
    });
  }

  #deliver(makers: ReadonlyMap<string, FrameMaker>): MaybePromise<void> {
    const reached: Group[] = [];
    for (const [group, reason] of this.#invalid) {
      this.#events.delete(group);
      invalidate(group, reason);
    }
    for (const [group, events] of this.#events) {
      if (group.watchers.size > 0) {
        const happened = events.filter((event) => event !== null);
        for (const watcher of group.watchers) watcher.take(happened);
      }
      if (group.members.size > 0) reached.push(group);
    }
    if (reached.length === 0) return;
    const { to } = this.#tick;
    const position = to === null ? null : this.#options.log.print(to);
    return this.#fanOut.deliver(reached, to, (group) => this.#chunk(group, makers, position));
  }

  /** What the members of a group are sent; null where nothing has come of what concerned it. */
  #chunk(
    group: Group,
    makers: ReadonlyMap<string, FrameMaker>,
    position: string | null,
  ): Uint8Array | null {
    const maker = makers.get(group.viewKey);
    const events = this.#events.get(group) ?? [];
    const text = events.map((event) => event === null ? "" : maker?.text(event) ?? "").join("");
    if (text === "") return null;
    const token = position === null
      ? ""
      : tokenText(this.#options.marks.token(position, group.mark));
    return toBytes(text + token);
  }

  #fail(groups: readonly Group[], error: unknown): void {
    for (const group of new Set(groups)) {
      this.#events.delete(group);
      for (const follower of group.followers()) follower.fail(error);
    }
  }
}

/** Tells those who read live, or watch, that they must begin anew. */
export function invalidate(group: Group, reason: InvalidationReason): void {
  for (const follower of group.followers()) follower.invalidate(reason);
}

/** Most changes are of columns that most filters do not ask about: then the answer is the same. */
function answerAfter(
  { decide, reads }: Group,
  { before, after, changed }: Passage,
  answerBefore: boolean | null,
): boolean | null {
  if (after === null) return false;
  return before !== null && (changed & reads) === 0 ? answerBefore : decide(after);
}

/** A passage that only the database can judge for a group, and the place of its event. */
interface Question {
  readonly group: Group;
  readonly passage: Passage;
  readonly place: number;
}
