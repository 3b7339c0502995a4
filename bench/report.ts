import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";

/** One figure beside the limit it is held against. */
export interface Line {
	scenario: string;
	store: string;
	/** 0 where nothing is stored. */
	partitions: number;
	figure: number;
	unit: string;
	/** What the figure is compared with, measured in the same run. */
	against?: { name: string; figure: number; ratio: number; wanted?: string };
	unitsPerCommit?: number;
	cpuMicros?: number;
}

export interface Machine {
	node: string;
	cpu: string;
	cores: number;
	memoryGiB: number;
	flowfabric: string;
	commit: string;
	sqlite: string;
	valkey: string;
	seed: number;
}

export function machine({ sqlite, valkey }: Pick<Machine, "sqlite" | "valkey">, seed: number): Machine {
	const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
		version: string;
	};
	return {
		node: [process.version, process.env.NODE_OPTIONS, ...process.execArgv].filter(Boolean).join(" "),
		cpu: cpus()[0]?.model ?? "unknown",
		cores: cpus().length,
		memoryGiB: Math.round(totalmem() / 2 ** 30),
		flowfabric: version,
		commit: gitCommit(),
		sqlite: `${sqlite}, WAL, synchronous=FULL`,
		valkey,
		seed,
	};
}

function gitCommit(): string {
	try {
		return execFileSync("git", ["rev-parse", "--short", "HEAD"], { stdio: ["ignore", "pipe", "ignore"] })
			.toString()
			.trim();
	} catch {
		return "unknown";
	}
}

export function table(lines: readonly Line[]): string {
	const rows = lines.map((line) => [
		line.scenario,
		line.partitions === 0 ? "" : `${line.store} ×${line.partitions}`,
		`${show(line.figure)} ${line.unit}`,
		line.against ? `${line.against.name} ${show(line.against.figure)}` : "",
		line.against ? line.against.ratio.toFixed(2) : "",
		line.against?.wanted ?? "",
		line.unitsPerCommit === undefined ? "" : line.unitsPerCommit.toFixed(1),
		line.cpuMicros === undefined ? "" : line.cpuMicros.toFixed(0),
	]);
	const all = [["scenario", "store", "figure", "against", "ratio", "wanted", "units/commit", "CPU µs each"], ...rows];
	const widths = (all[0] ?? []).map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
	return all
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths[column] ?? 0))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

const show = (figure: number): string => (figure >= 100 ? figure.toFixed(0) : figure.toFixed(figure >= 10 ? 1 : 3));
