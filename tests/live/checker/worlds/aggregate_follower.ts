import type { Block } from "../event_source_parser.ts";
import { exactText, parseExactDecimal } from "../exact_text.ts";
import { Follower, type FollowerOptions } from "./follower.ts";
import type { History, Row } from "./history.ts";
import { type Question, questionQuery } from "./interests.ts";
import type { Sight } from "./sight.ts";

/** What a client of an aggregate is made of. */
export interface AggregateFollowerOptions extends FollowerOptions {
  readonly question: Question;
  readonly history: History;
  readonly grantedView: Sight;
  /** Whether some changes are noticed, and not known. */
  readonly isUntold: boolean;
}

/** A client that keeps the last answer, and checks that it was one at some moment. */
export class AggregateFollower extends Follower {
  readonly question: Question;
  readonly name: string;
  protected readonly path: string;
  protected readonly user: string;
  readonly #options: AggregateFollowerOptions;
  #last: string | null = null;
  /** The first moment of which its answer may be. */
  #since = 0;
  #rested = 0;

  /** Is away. */
  constructor(options: AggregateFollowerOptions) {
    super(options);
    this.#options = options;
    const { question } = options;
    this.question = question;
    this.user = question.user;
    this.path = `/api/items/aggregate/subscribe?${questionQuery(question)}`;
    this.name = `${question.user} aggregate?${decodeURIComponent(questionQuery(question))}`;
  }

  /** The last answer with every digit; null before the first one. */
  get last(): string | null {
    return this.#last;
  }

  /** Its answer is that of now; another one may be on its way all the same. */
  markRested(): void {
    this.#since = Math.max(this.#since, this.#rested);
    this.#rested = this.#options.history.now;
  }

  protected begin(): void {
    this.#last = null;
  }

  protected take({ event }: Block): void {
    if (event === null) return;
    this.count++;
    if (event.type === "invalidate") {
      this.#last = null;
      return;
    }
    if (event.type !== "aggregate") {
      this.findings.add("members", `${this.name}: there is no event ${event.type}`);
      return;
    }
    this.#last = answerText(event.data);
    const moment = this.#momentOf(event.data);
    if (moment !== null) this.#since = moment;
    else if (!this.#options.isUntold) {
      const text = `${this.name}: since ${this.#since} no answer was ${event.data}`;
      this.findings.add("aggregate-moments", text);
    }
  }

  /** The first moment at which the counted part of an answer was right. */
  #momentOf(data: string): number | null {
    const { groups }: { readonly groups: readonly Group[] } = JSON.parse(data);
    const sent = groups.map(printGroup).toSorted().join("; ");
    const { history, grantedView } = this.#options;
    const { user, condition, groupBy } = this.question;
    const interest = { user, place: "items" as const, condition, select: null, include: "" };
    for (let index = this.#since; index <= history.now; index++) {
      const state = history.at(index);
      if (state.isInner) continue;
      const rows = grantedView.rowsOf(state, interest);
      const counted = groupsOf(rows, groupBy).map(printGroup).toSorted().join("; ");
      if (counted === sent) return index;
    }
    return null;
  }
}

/** An answer without its name, digit by digit. */
export function answerText(json: string): string {
  // An answer is an object.
  const { type: _type, ...answer } = parseExactDecimal(json) as Record<string, unknown>;
  return exactText(answer);
}

interface Group {
  readonly key: Readonly<Record<string, unknown>> | null;
  readonly count: number;
  readonly sum: { readonly size: number | null };
  readonly max: { readonly title: string | null };
}

function printGroup({ key, count, sum, max }: Group): string {
  return JSON.stringify([key, count, sum.size, max.title]);
}

function groupsOf(rows: readonly Row[], groupBy: string | null): readonly Group[] {
  if (groupBy === null) return [groupOf(rows, null)];
  const groups = Map.groupBy(rows, (row) => row[groupBy] ?? null);
  return [...groups].map(([value, some]) => groupOf(some, { [groupBy]: value }));
}

function groupOf(rows: readonly Row[], key: Group["key"]): Group {
  const sizes = rows.map(({ size }) => size).filter((size) => size !== null);
  const titles = rows.map(({ title }) => title).filter((title) => title !== null);
  return {
    key,
    count: rows.length,
    sum: {
      size: sizes.length === 0 ? null : sizes.reduce((sum: number, size) => sum + Number(size), 0),
    },
    max: { title: titles.length === 0 ? null : String(titles.toSorted().at(-1)) },
  };
}
