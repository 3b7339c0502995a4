import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { printTable } from "../format/table.ts";
import { relative } from "../format/times.ts";
import { allPages, WHOLE_PAGE } from "../pages.ts";

interface Flags extends ServerFlags {
	namespace?: string;
}

export function addWorkers(program: Command, context: CommandContext): void {
	const command = program
		.command("workers")
		.summary("list registered workers")
		.description("Lists the workers of a namespace: what they take, what they offer, when they were last heard.")
		.option("--namespace <namespace>", "in this namespace");
	asksServer(command).action(({ namespace, ...flags }: Flags) =>
		atServer(context, flags, async ({ backend }) => {
			const tenant = namespace === undefined ? {} : { namespace };
			const all = await allPages(async (cursor) => {
				const page = await backend.workers.list({ ...tenant, ...cursor, limit: WHOLE_PAGE });
				return { rows: page.workers, nextCursor: page.nextCursor };
			});
			if (flags.json) return context.terminal.json({ workers: all });
			if (all.length === 0) return context.terminal.note("No worker is there.");
			const now = Date.now();
			printTable(
				context.terminal,
				[
					{ title: "WORKER", cell: ({ workerId }) => workerId, least: 8 },
					{ title: "LAST HEARD", cell: ({ lastSeenAt }) => relative(lastSeenAt, now) },
					{ title: "KINDS", cell: ({ kinds }) => kinds?.join(", ") ?? "any", least: 10 },
					{ title: "LANES", cell: ({ lanes }) => lanes.join(", "), least: 8 },
					{ title: "OFFERS", cell: ({ capabilities }) => capabilities.join(", "), least: 8 },
					{ title: "INSTANCE", cell: ({ instanceId }) => instanceId, least: 10 },
				],
				all,
			);
		}),
	);
	examples(command, ["flowfabric workers", "flowfabric workers --namespace team-a --json"]);
}
