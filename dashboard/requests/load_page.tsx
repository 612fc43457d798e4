import { Chart } from "../overview/chart.tsx";
import { formatTime } from "../parts/format.ts";
import { RecordTable } from "../parts/record_table.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";
import { useReport } from "../service/use_report.ts";
import { href } from "../shell/route.ts";

/** The numbers and durations of requests, as the report has them. */
interface Load {
  readonly stepMs: number;
  readonly points: readonly LoadPoint[];
}

interface LoadPoint {
  readonly at: number;
  readonly requests: number;
  readonly clientErrors: number;
  readonly serverErrors: number;
  readonly p50: number | null;
  readonly p95: number | null;
}

type Line = readonly [name: string, color: string, member: keyof LoadPoint];

const charts: readonly (readonly [title: string, unit: string, lines: readonly Line[]])[] = [
  ["Requests", "", [["requests", "accent", "requests"]]],
  ["Errors", "", [["4xx", "warn", "clientErrors"], ["5xx", "bad", "serverErrors"]]],
  ["Durations", "ms", [["p50", "good", "p50"], ["p95", "accent", "p95"]]],
];

const spans = ["hour", "day", "month"] as const;

/** The load of the last hour, day or month, as charts and as a table. */
export function LoadPage({ query }: { readonly query: URLSearchParams }) {
  const span = spans.find((one) => one === query.get("span")) ?? "hour";
  const state = useReport<Load>("load", { span }, 10_000);
  return (
    <Page
      title="Load"
      actions={
        <nav class="tools spans" aria-label="Span">
          {spans.map((one) => (
            <a
              key={one}
              class="button"
              href={href("load", { span: one })}
              aria-current={one === span ? "page" : undefined}
            >
              Last {one}
            </a>
          ))}
        </nav>
      }
    >
      <ReportView state={state}>
        {({ points, stepMs }) => (
          <>
            <p class="quiet">
              Since {formatTime(points[0]?.at)}, in steps of{" "}
              {stepText(stepMs)}, without the requests of the dashboard.
            </p>
            <div class="charts">
              {charts.map(([title, unit, lines]) => (
                <Chart
                  key={title}
                  {...{ title, unit, points: points.length }}
                  lines={lines.map(([name, color, member]) => ({
                    ...{ name, color },
                    values: points.map((point) => point[member]),
                  }))}
                />
              ))}
            </div>
            <h2>The numbers of the charts</h2>
            <RecordTable
              label="Load"
              columns={[
                { name: "at", title: "from", kind: "time" },
                { name: "requests", kind: "number" },
                { name: "clientErrors", title: "4xx", kind: "number" },
                { name: "serverErrors", title: "5xx", kind: "number" },
                { name: "p50", title: "p50 ms", kind: "number" },
                { name: "p95", title: "p95 ms", kind: "number" },
              ]}
              records={points.filter(({ requests }) => requests > 0).reverse()}
              empty="There was no request."
            />
          </>
        )}
      </ReportView>
    </Page>
  );
}

function stepText(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes === 1) return "a minute";
  return minutes < 60 ? `${minutes} minutes` : `${minutes / 60} hours`;
}
