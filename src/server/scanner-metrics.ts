import { Counter, Gauge, type Registry } from "prom-client";
import type { ScannerView } from "../contract/replies.ts";

/** What the engine does on its own, from the same rows as `GET /v1/admin/scanners`. */
export function addScannerMetrics(registry: Registry, rows: () => readonly ScannerView[]): void {
	const shared = { labelNames: ["duty"] as const, registers: [registry] };
	const counter = (name: string, help: string, figureOf: (row: ScannerView) => number): Counter =>
		new Counter({
			...shared,
			name: `flowfabric_scanner_${name}`,
			help,
			collect() {
				this.reset();
				for (const row of rows()) this.inc({ duty: row.name }, figureOf(row));
			},
		});
	const gauge = (name: string, help: string, figureOf: (row: ScannerView) => number | undefined): Gauge =>
		new Gauge({
			...shared,
			name: `flowfabric_scanner_${name}`,
			help,
			collect() {
				this.reset();
				for (const row of rows()) {
					const value = figureOf(row);
					if (value !== undefined) this.set({ duty: row.name }, value);
				}
			},
		});
	const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1000);
	counter("runs_total", "Passes in which a duty had something to do", ({ runs }) => runs);
	counter("items_total", "Things done because they were due, by duty", ({ items }) => items);
	counter("errors_total", "Things that failed, by duty", ({ errors }) => errors);
	gauge("last_duration_seconds", "How long the last pass took, by duty", ({ lastDurationMs }) =>
		seconds(lastDurationMs),
	);
	gauge("lag_seconds", "How late the last item was handled, by duty", ({ lagMs }) => seconds(lagMs));
	gauge("parked", "Items parked now because they kept failing", ({ parked, name }) =>
		name === "due" ? parked : undefined,
	);
}
