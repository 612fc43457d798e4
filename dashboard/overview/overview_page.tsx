import { useEffect, useRef, useState } from "preact/hooks";
import { useFacts } from "../service/facts.ts";
import { useReport } from "../service/use_report.ts";
import { Facts } from "../parts/facts.tsx";
import { Page, ReportView } from "../parts/report_view.tsx";
import { Chart } from "./chart.tsx";
import type { ChartLine } from "./line_chart.ts";
import { type MetricsReport, type Moment, momentOf } from "./metric_deltas.ts";

/** How many moments the charts show. */
const points = 180;

type Line = readonly [name: string, color: string, member: keyof Moment];

const charts: readonly (readonly [title: string, unit: string, lines: readonly Line[]])[] = [
  ["Requests", "/s", [["requests", "accent", "requests"]]],
  ["Latency", "ms", [["p50", "good", "p50"], ["p95", "accent", "p95"], ["p99", "warn", "p99"]]],
  ["Errors", "/s", [["4xx", "warn", "clientErrors"], ["5xx", "bad", "serverErrors"]]],
  ["Live streams", "", [
    ["rows", "accent", "rowStreams"],
    ["aggregates", "good", "aggregateStreams"],
  ]],
  ["Refusals", "/s", [
    ["429", "warn", "limited"],
    ["428", "accent", "challenged"],
    ["streams", "bad", "refusedStreams"],
  ]],
];

/** How the service is doing now. */
export function OverviewPage() {
  const { resources, environment, version } = useFacts();
  const state = useReport<MetricsReport>("metrics", {}, 1_000);
  const moments = useMoments(state.data);
  return (
    <Page title="Overview">
      <Facts record={{ version, environment, resources: resources.length }} />
      <ReportView state={state}>
        {() => (
          <>
            <p class="quiet">
              The last three minutes, second by second, without the requests of the dashboard.
            </p>
            <div class="charts">
              {charts.map(([title, unit, lines]) => (
                <Chart
                  key={title}
                  {...{ title, unit, points }}
                  lines={lines.map(([name, color, member]): ChartLine => ({
                    ...{ name, color },
                    values: moments.map((moment) => moment[member]),
                  }))}
                />
              ))}
            </div>
          </>
        )}
      </ReportView>
    </Page>
  );
}

/** What happened between the readings so far. */
function useMoments(report: MetricsReport | null): readonly Moment[] {
  const before = useRef<MetricsReport | null>(null);
  const [moments, setMoments] = useState<readonly Moment[]>([]);
  useEffect(() => {
    if (report === null) return;
    const last = before.current;
    before.current = report;
    if (last !== null && last.at < report.at) {
      setMoments((known) => [...known, momentOf(last, report)].slice(-points));
    }
  }, [report]);
  return moments;
}
