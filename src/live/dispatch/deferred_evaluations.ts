import type { RowImage } from "../../filter/match/row_image.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Matcher } from "../match/matcher.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";
import { type RowChange, type Transition, transitionKind } from "../match/row_change.ts";

/** A passage that only the database can judge for a group, and the place of its event. */
interface DeferredEvaluation {
  readonly group: SubscriberGroup;
  readonly rowChange: RowChange;
  readonly place: number;
}

/** What is found of a question. */
export interface EvaluatedTransition extends DeferredEvaluation {
  readonly kind: Transition["kind"] | null;
}

/** What memory leaves open about the rows of one table. */
export class DeferredEvaluations {
  readonly #table: TableInfo;
  readonly #deferred: DeferredEvaluation[] = [];

  /** Nothing is open yet. */
  constructor(table: TableInfo) {
    this.#table = table;
  }

  /** Whom they concern. */
  get groups(): readonly SubscriberGroup[] {
    return this.#deferred.map(({ group }) => group);
  }

  /** One more. */
  add(question: DeferredEvaluation): void {
    this.#deferred.push(question);
  }

  /** Asks the database, about every row by one statement. */
  async evaluateInDatabase(matcher: Matcher): Promise<readonly EvaluatedTransition[]> {
    const images = new Map<RowImage, number>();
    const filters = new Map<SubscriberGroup, number>();
    for (const { group, rowChange: { before, after } } of this.#deferred) {
      if (!filters.has(group)) filters.set(group, filters.size);
      for (const image of [before, after]) {
        if (image !== null && !images.has(image)) images.set(image, images.size);
      }
    }
    const requested = [...filters.keys()].map(({ query }) => query.filter);
    const answers = await matcher.evaluateInDatabase(this.#table, [...images.keys()], requested);
    const passes = (image: RowImage | null, group: SubscriberGroup) =>
      image !== null && answers[images.get(image) ?? -1]?.[filters.get(group) ?? -1] === true;
    return this.#deferred.map((question) => {
      const { group, rowChange: { before, after } } = question;
      return { ...question, kind: transitionKind(passes(before, group), passes(after, group)) };
    });
  }
}
