import { useState } from "preact/hooks";
import type { FieldFacts } from "../service/facts.ts";
import { type Row, valueIn } from "../service/resources.ts";
import { CellValue } from "../data/cell.tsx";
import { isSame } from "./draft.ts";

type Choice = "mine" | "theirs";

/**
 * What was read, what the operator wrote and what another client has written since, field by field.
 * Where both changed a field the operator chooses.
 */
export function ConflictView({ fields, base, mine, theirs, onResolve, onCancel }: {
  readonly fields: readonly FieldFacts[];
  readonly base: Row;
  /** The patch. */
  readonly mine: Row;
  readonly theirs: Row;
  /** Called with the patch to send over theirs. */
  readonly onResolve: (patch: Row) => void;
  readonly onCancel: () => void;
}) {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Choice>>(new Map());
  const isMine = ({ name }: FieldFacts) =>
    Object.hasOwn(mine, name) && !isSame(mine[name], valueIn(theirs, name));
  const isTheirs = ({ name }: FieldFacts) => !isSame(valueIn(base, name), valueIn(theirs, name));
  const changed = fields.filter((field) => isMine(field) || isTheirs(field));
  const choiceOf = (field: FieldFacts): Choice | undefined =>
    chosen.get(field.name) ?? (isMine(field) ? isTheirs(field) ? undefined : "mine" : "theirs");
  const isDecided = changed.every((field) => choiceOf(field) !== undefined);
  const resolve = () => {
    const wanted = changed.filter((field) => choiceOf(field) === "mine");
    onResolve(Object.fromEntries(wanted.map(({ name }) => [name, valueIn(mine, name)])));
  };
  return (
    <section class="conflict" aria-labelledby="conflict-title">
      <h2 id="conflict-title">The row has changed since you read it</h2>
      <p>
        Choose which values it gets; what only they have changed stays as it is. Nothing of yours
        was saved so far.
      </p>
      <div class="table" tabIndex={0} role="region" aria-label="Both versions">
        <table>
          <thead>
            <tr>
              <th scope="col">field</th>
              <th scope="col">as you read it</th>
              <th scope="col">mine</th>
              <th scope="col">theirs</th>
            </tr>
          </thead>
          <tbody>
            {changed.map((field) => (
              <tr key={field.name}>
                <th scope="row">{field.name}</th>
                <td>
                  <CellValue value={valueIn(base, field.name)} />
                </td>
                <td>
                  {isMine(field)
                    ? (
                      <Version
                        {...{ field, version: "mine", value: valueIn(mine, field.name) }}
                        isChosen={choiceOf(field) === "mine"}
                        onChoose={() => setChosen(new Map(chosen).set(field.name, "mine"))}
                      />
                    )
                    : <span class="quiet">not changed</span>}
                </td>
                <td>
                  {isMine(field)
                    ? (
                      <Version
                        {...{ field, version: "theirs", value: valueIn(theirs, field.name) }}
                        isChosen={choiceOf(field) === "theirs"}
                        onChoose={() => setChosen(new Map(chosen).set(field.name, "theirs"))}
                      />
                    )
                    : <CellValue value={valueIn(theirs, field.name)} />}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="actions">
        <button type="button" class="main" disabled={!isDecided} onClick={resolve}>
          Save the choice
        </button>
        <button type="button" onClick={onCancel}>Drop my changes</button>
        {!isDecided && <span class="quiet">Some fields are not decided yet.</span>}
      </div>
    </section>
  );
}

function Version({ field, version, value, isChosen, onChoose }: {
  readonly field: FieldFacts;
  readonly version: Choice;
  readonly value: unknown;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}) {
  return (
    <label class="check version-choice">
      <input
        type="radio"
        name={`choice-${field.name}`}
        checked={isChosen}
        aria-label={`${field.name}: ${version}`}
        onChange={onChoose}
      />
      <CellValue value={value} />
    </label>
  );
}
