import type { Command } from "commander";
import { FlowFabric } from "../../library/flowfabric.ts";
import { type BenchReport, measure, type Percentiles } from "../bench/measure.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { numberFlag } from "../flag-values.ts";
import { bar } from "../format/bar.ts";
import { printFields, printTable } from "../format/table.ts";

interface Flags extends ServerFlags {
	store?: string;
	count: number;
	concurrency: number;
	namespace: string;
}

export function addBench(program: Command, context: CommandContext): void {
	const command = program
		.command("bench")
		.summary("measure throughput and latency for a moment")
		.description(
			"Submits work, completes it with a worker that does nothing, and prints throughput and latency. It uses a lane of its own; its executions are removed after a minute.",
		)
		.option("--store <url>", "measure an engine in this process on this store instead of a server")
		.option("--count <number>", "executions", numberFlag(1, 1_000_000), 2000)
		.option("--concurrency <number>", "executions run at the same time", numberFlag(1, 1000), 64)
		.option("--namespace <namespace>", "namespace to use", "default");
	asksServer(command).action(async (flags: Flags) => {
		const report = await withTarget(context, flags, (ff) =>
			measure(ff, {
				...flags,
				onProgress: (percent, what) => context.terminal.status(`${what.padEnd(10)} ${bar(percent)}`),
			}),
		);
		context.terminal.status("");
		if (flags.json) context.terminal.json(report);
		else print(context, report);
	});
	examples(command, ["flowfabric bench", "flowfabric bench --store memory: --count 10000", "flowfabric bench --json"]);
}

async function withTarget<T>(context: CommandContext, flags: Flags, work: (ff: FlowFabric) => Promise<T>): Promise<T> {
	if (flags.store === undefined) return atServer(context, flags, work);
	const ff = await FlowFabric.open(flags.store);
	try {
		return await work(ff);
	} finally {
		await ff.close();
	}
}

function print(
	{ terminal }: CommandContext,
	{ count, concurrency, perSecond, submitMs, roundTripMs }: BenchReport,
): void {
	printFields(terminal, [
		["executions", `${count}, ${concurrency} at a time`],
		["throughput", `${Math.round(perSecond)} lifecycles a second (submitted, claimed, completed)`],
	]);
	terminal.print();
	const rows: [name: string, Percentiles][] = [
		["submit", submitMs],
		["submit to result", roundTripMs],
	];
	const figure = (name: keyof Percentiles) => ({
		title: name.toUpperCase(),
		cell: ([, percentiles]: (typeof rows)[number]) => percentiles[name].toFixed(2),
		align: "right" as const,
	});
	printTable(
		terminal,
		[{ title: "LATENCY, MS", cell: ([name]) => name }, figure("p50"), figure("p90"), figure("p99"), figure("max")],
		rows,
	);
}
