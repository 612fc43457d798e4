import type { ComponentChildren } from "preact";
import { CallError } from "../service/call.ts";
import type { ReportState } from "../service/use_report.ts";
import { Problem } from "./problem.tsx";

/** Shows a report once it is read; one that the service does not have is no fault. */
export function ReportView<T>({ state, children }: {
  readonly state: ReportState<T>;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, error } = state;
  const isMissing = error instanceof CallError && error.status === 404;
  return (
    <>
      {isMissing && <p class="quiet">Not available: this service does not have it.</p>}
      {error !== null && !isMissing && <Problem error={error} />}
      {data === null && error === null && <p class="quiet" role="status">Loading …</p>}
      {data !== null && children(data)}
    </>
  );
}

/** A page with its heading. */
export function Page({ title, actions, children }: {
  readonly title: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <>
      <div class="heading">
        <h1>{title}</h1>
        {actions}
      </div>
      {children}
    </>
  );
}
