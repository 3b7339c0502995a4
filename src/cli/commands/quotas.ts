import type { Command } from "commander";
import type { PatchQuotaRequest } from "../../contract/quotas.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, withFullIds } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { durationFlag } from "../flag-values.ts";
import { printQuota, printQuotas } from "../format/guards.ts";
import {
	concurrencyFlag,
	type GuardFlags,
	NONE,
	orNull,
	rateFlag,
	someWaiting,
	subcommand,
	tenant,
} from "../guard-flags.ts";
import { allPages, WHOLE_PAGE } from "../pages.ts";

interface DefinitionFlags extends GuardFlags {
	rate?: ReturnType<typeof rateFlag>;
	concurrency?: ReturnType<typeof concurrencyFlag>;
	jitter?: number;
	holdWhileSuspended?: boolean;
}

export function addQuotas(program: Command, context: CommandContext): void {
	const { terminal } = context;
	const command = program
		.command("quotas")
		.summary("list quotas; create, change or show one")
		.description("Lists the quotas of a namespace: how much of each is taken, and how much waits for it.")
		.option("--namespace <namespace>", "in this namespace");
	asksServer(withFullIds(command)).action((flags: GuardFlags) =>
		atServer(context, flags, async (ff) => {
			const quotas = await allPages(async (cursor) => {
				const page = await ff.quotas.list({ ...tenant(flags), ...cursor, limit: WHOLE_PAGE });
				return { rows: page.quotas, nextCursor: page.nextCursor };
			});
			if (flags.json) return terminal.json({ quotas });
			if (quotas.length === 0) return terminal.note("There are no quotas.");
			printQuotas(terminal, quotas);
		}),
	);

	subcommand(command, "show <id>", "a quota, who holds its slots, and what waits for it").action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags>();
			return atServer(context, flags, async (ff) => {
				const quota = await ff.quotas.get(id, tenant(flags));
				if (flags.json) return terminal.json(quota);
				printQuota(terminal, quota, await someWaiting(ff, "quota", quota), Date.now());
			});
		},
	);

	defining(subcommand(command, "create <id>", "make a quota; made again as it is, nothing happens")).action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<DefinitionFlags>();
			const { rate, concurrency, jitter, holdWhileSuspended } = flags;
			return atServer(context, flags, async (ff) => {
				const answer = await ff.quotas.create({
					id,
					...tenant(flags),
					...(rate === undefined || rate === NONE ? undefined : { rate }),
					...(concurrency === undefined || concurrency === NONE ? undefined : { concurrency }),
					...(jitter === undefined ? undefined : { jitterMs: jitter }),
					...(holdWhileSuspended === undefined ? undefined : { holdWhileSuspended }),
				});
				if (flags.json) return terminal.json(answer);
				terminal.print(`${answer.id} ${answer.created ? "made" : "was there already"}`);
			});
		},
	);

	defining(subcommand(command, "set <id>", "change what is given of a quota, at once")).action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<DefinitionFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.quotas.patch(id, changes(flags), tenant(flags));
				if (flags.json) return terminal.json(answer);
				printQuotas(terminal, [answer]);
			});
		},
	);

	subcommand(command, "delete <id>", "delete a quota; what waited for it is released").action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.quotas.delete(id, tenant(flags));
				if (flags.json) return terminal.json({ id, ...answer });
				terminal.print(`${id} deleted`);
			});
		},
	);
	examples(command, [
		"flowfabric quotas",
		"flowfabric quotas create openai --rate 100/1s --concurrency 5",
		"flowfabric quotas show openai",
		"flowfabric quotas set openai --concurrency 10 --rate none",
		"flowfabric quotas delete openai",
	]);
}

const defining = (command: Command): Command =>
	command
		.option("--rate <number/duration|none>", "how many may start within a sliding window, as in 100/1s", rateFlag)
		.option("--concurrency <number|none>", "how many may run at the same time", concurrencyFlag)
		.option("--jitter <duration>", "spread the start of waiting work over up to this long", durationFlag)
		.option("--hold-while-suspended", "suspended executions keep their slots")
		.option("--no-hold-while-suspended", "suspended executions give their slots back");

function changes({ rate, concurrency, jitter, holdWhileSuspended }: DefinitionFlags): PatchQuotaRequest {
	const given = {
		...(rate === undefined ? undefined : { rate: orNull(rate) }),
		...(concurrency === undefined ? undefined : { concurrency: orNull(concurrency) }),
		...(jitter === undefined ? undefined : { jitterMs: jitter }),
		...(holdWhileSuspended === undefined ? undefined : { holdWhileSuspended }),
	};
	if (Object.keys(given).length > 0) return given;
	throw new MisuseError("set: give --rate, --concurrency, --jitter or --hold-while-suspended");
}
