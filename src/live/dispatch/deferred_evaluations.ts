import type { RowImage } from "../../filter/match/row_image.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { Matcher } from "../match/matcher.ts";
import { type RowChange, type Transition, transitionKind } from "../match/row_change.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

/** A row change that only the database can evaluate for a group, and the place of its event. */
interface DeferredEvaluation {
  readonly group: SubscriberGroup;
  readonly rowChange: RowChange;
  readonly place: number;
}

/**
 * A deferred evaluation with the database's answer; null where the change is no event for the
 * group.
 */
export interface EvaluatedTransition extends DeferredEvaluation {
  readonly kind: Transition["kind"] | null;
}

/**
 * Evaluations deferred to the database: the row changes of one table in a batch that memory cannot
 * evaluate.
 */
export class DeferredEvaluations {
  readonly #table: TableInfo;
  readonly #deferred: DeferredEvaluation[] = [];

  /** Begins empty. */
  constructor(table: TableInfo) {
    this.#table = table;
  }

  /** The groups that need an answer. */
  get groups(): readonly SubscriberGroup[] {
    return this.#deferred.map(({ group }) => group);
  }

  add(evaluation: DeferredEvaluation): void {
    this.#deferred.push(evaluation);
  }

  /** Evaluates all filters for all row images by one statement. */
  async evaluateInDatabase(matcher: Matcher): Promise<readonly EvaluatedTransition[]> {
    const images = new Map<RowImage, number>();
    const groups = new Map<SubscriberGroup, number>();
    for (const { group, rowChange: { before, after } } of this.#deferred) {
      if (!groups.has(group)) groups.set(group, groups.size);
      for (const image of [before, after]) {
        if (image !== null && !images.has(image)) images.set(image, images.size);
      }
    }
    const filters = [...groups.keys()].map(({ query }) => query.filter);
    const answers = await matcher.evaluateInDatabase(this.#table, [...images.keys()], filters);
    const passes = (image: RowImage | null, group: SubscriberGroup) =>
      image !== null && answers[images.get(image) ?? -1]?.[groups.get(group) ?? -1] === true;
    return this.#deferred.map((deferred) => {
      const { group, rowChange: { before, after } } = deferred;
      return { ...deferred, kind: transitionKind(passes(before, group), passes(after, group)) };
    });
  }
}
