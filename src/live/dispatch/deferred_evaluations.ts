import type { RowImage } from "../../filter/match/row_matches.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { evaluationSteps, type Matcher, sharedIdentity } from "../match/matcher.ts";
import { type RowChange, type Transition, transitionKind } from "../match/row_change.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

/** A row change that only the database can evaluate. `place` is the index of its event. */
interface DeferredEvaluation {
  readonly group: SubscriberGroup;
  readonly rowChange: RowChange;
  readonly place: number;
}

/** A deferred evaluation and the database's result. `kind` is null if there is no event. */
export interface EvaluatedTransition extends DeferredEvaluation {
  readonly kind: Transition["kind"] | null;
}

export interface DeferredStatement {
  readonly evaluations: DeferredEvaluations;
  readonly steps: number;
}

export class DeferredEvaluations {
  readonly #table: TableInfo;
  readonly #deferred: DeferredEvaluation[] = [];

  constructor(table: TableInfo) {
    this.#table = table;
  }

  get groups(): readonly SubscriberGroup[] {
    return this.#deferred.map(({ group }) => group);
  }

  add(evaluation: DeferredEvaluation): void {
    this.#deferred.push(evaluation);
  }

  /** Puts cheap evaluations into one statement. An expensive evaluation runs and fails alone. */
  parts(): readonly DeferredStatement[] {
    const byGroup = Map.groupBy(this.#deferred, ({ group }) => group);
    const sized = [...byGroup].map(([{ query: { filter } }, deferred]) => ({
      deferred,
      steps: evaluationSteps(deferred.flatMap(imagesOf), [filter]),
    }));
    const parts: { readonly evaluations: DeferredEvaluations; steps: number }[] = [];
    for (const { deferred, steps } of sized.sort((one, other) => one.steps - other.steps)) {
      let part = parts.at(-1);
      if (part === undefined || part.steps + steps > maxStepsOfPart) {
        part = { evaluations: new DeferredEvaluations(this.#table), steps: stepsOfStatement };
        parts.push(part);
      }
      for (const one of deferred) part.evaluations.add(one);
      part.steps += steps;
    }
    return parts;
  }

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
    const answers = await matcher.evaluateInDatabase(
      this.#table,
      [...images.keys()],
      filters,
      sharedIdentity,
    );
    const passes = (image: RowImage | null, group: SubscriberGroup) =>
      image !== null && answers[images.get(image) ?? -1]?.[groups.get(group) ?? -1] === true;
    return this.#deferred.map((deferred) => {
      const { group, rowChange: { before, after } } = deferred;
      return { ...deferred, kind: transitionKind(passes(before, group), passes(after, group)) };
    });
  }
}

function imagesOf({ rowChange: { before, after } }: DeferredEvaluation): readonly RowImage[] {
  return [before, after].filter((image) => image !== null);
}

/** The estimated number of evaluation steps that a database performs in about one second. */
export const maxStepsOfPart = 500_000_000;
/** The fixed cost of a statement, in steps. The steps of its evaluations are added to this cost. */
const stepsOfStatement = 1_000_000;
