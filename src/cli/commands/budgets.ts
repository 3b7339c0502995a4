import { type Command, Option } from "commander";
import type { CreateBudgetRequest, PatchBudgetRequest } from "../../contract/budgets.ts";
import { ON_HARD } from "../../kernel/records/budget.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, withFullIds } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { numberFlag, tagFlag } from "../flag-values.ts";
import { printBudget, printBudgets, printLedger, usedText } from "../format/guards.ts";
import { when } from "../format/times.ts";
import {
	amountFlag,
	type GuardFlags,
	limitFlag,
	listFlag,
	NONE,
	orNull,
	resetFlag,
	someWaiting,
	subcommand,
	tenant,
} from "../guard-flags.ts";
import { allPages, WHOLE_PAGE } from "../pages.ts";

interface DefinitionFlags extends GuardFlags {
	hard?: Record<string, number | null>;
	soft?: Record<string, number | null>;
	reset?: ReturnType<typeof resetFlag>;
	onHard?: CreateBudgetRequest["onHard"];
	label?: Record<string, string>;
	remove?: string[];
}

const SHOWN_ENTRIES = 10;

export function addBudgets(program: Command, context: CommandContext): void {
	const { terminal } = context;
	const command = program
		.command("budgets")
		.summary("list budgets; create, change, spend, reset or show one")
		.description("Lists the budgets of a namespace: what is used of each, how much waits for it, when it resets.")
		.option("--namespace <namespace>", "in this namespace");
	asksServer(withFullIds(command)).action((flags: GuardFlags) =>
		atServer(context, flags, async (ff) => {
			const budgets = await allPages(async (cursor) => {
				const page = await ff.budgets.list({ ...tenant(flags), ...cursor, limit: WHOLE_PAGE });
				return { rows: page.budgets, nextCursor: page.nextCursor };
			});
			if (flags.json) return terminal.json({ budgets });
			if (budgets.length === 0) return terminal.note("There are no budgets.");
			printBudgets(terminal, budgets, Date.now());
		}),
	);

	subcommand(command, "show <id>", "a budget, who spent of it, and what waits for it").action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags>();
			return atServer(context, flags, async (ff) => {
				const budget = await ff.budgets.get(id, tenant(flags));
				if (flags.json) return terminal.json(budget);
				const { entries } = await ff.budgets.ledger(id, { ...tenant(flags), limit: SHOWN_ENTRIES });
				printBudget(terminal, budget, entries, await someWaiting(ff, "budget", budget), Date.now());
			});
		},
	);

	defining(subcommand(command, "create <id>", "make a budget; made again as it is, nothing happens")).action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<DefinitionFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.budgets.create({ id, ...tenant(flags), ...definition(flags) });
				if (flags.json) return terminal.json(answer);
				terminal.print(`${answer.id} ${answer.created ? "made" : "was there already"}: ${usedText(answer)}`);
			});
		},
	);

	defining(subcommand(command, "set <id>", "change what is given of a budget, at once"))
		.option("--remove <dimension>", "a dimension to remove; may be given several times", listFlag)
		.action((id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<DefinitionFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.budgets.patch(id, changes(flags), tenant(flags));
				if (flags.json) return terminal.json(answer);
				terminal.print(`${answer.id}: ${usedText(answer)}`);
			});
		});

	subcommand(command, "delete <id>", "delete a budget; what waited for it is released").action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.budgets.delete(id, tenant(flags));
				if (flags.json) return terminal.json({ id, ...answer });
				terminal.print(`${id} deleted`);
			});
		},
	);
	addSpending(command, context);
	examples(command, [
		"flowfabric budgets",
		"flowfabric budgets create team-a --hard tokens=1000000 --soft tokens=800000 --reset daily",
		"flowfabric budgets show team-a",
		"flowfabric budgets set team-a --hard tokens=2000000",
		"flowfabric budgets usage team-a tokens=1200 microUsd=5600 --execution ex_…",
		"flowfabric budgets ledger team-a --json",
		"flowfabric budgets release team-a ex_…",
		"flowfabric budgets reset team-a",
	]);
}

/** What was spent of a budget. */
function addSpending(command: Command, context: CommandContext): void {
	const { terminal } = context;
	subcommand(command, "usage <id> <dimension=amount...>", "report what was spent; ends with 4 if it is refused")
		.option("--execution <id>", "who spent it")
		.option("--dedup-key <key>", "a report sent again with this key counts once")
		.action((id: string, amounts: string[], _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags & { execution?: string; dedupKey?: string }>();
			const { execution, dedupKey } = flags;
			const dims = amounts.reduce<Record<string, number>>((all, each) => amountFlag(each, all), {});
			return atServer(context, flags, async (ff) => {
				const report = {
					dims,
					...(execution === undefined ? undefined : { executionId: execution }),
					...(dedupKey === undefined ? undefined : { dedupKey }),
				};
				const answer = await ff.budgets.usage(id, report, tenant(flags));
				if (answer.outcome === "hard_breach") context.end("refused");
				if (flags.json) return terminal.json(answer);
				const { outcome, dimension, current, limit, duplicate } = answer;
				const where = dimension === undefined ? "" : `: ${dimension} ${current}/${limit}`;
				terminal.print(`${outcome}${where}${duplicate ? " (was reported already)" : ""}`);
			});
		});

	subcommand(command, "reset <id>", "begin a new period now: usage is zero, and nothing is exhausted").action(
		(id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.budgets.reset(id, {}, tenant(flags));
				if (flags.json) return terminal.json({ id, ...answer });
				const { nextResetAt } = answer;
				terminal.print(`${id} reset${nextResetAt === undefined ? "" : `, next ${when(nextResetAt, Date.now())}`}`);
			});
		},
	);

	subcommand(command, "release <id> <executionId>", "take back what an execution spent in this period").action(
		(id: string, executionId: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.budgets.release(id, { executionId }, tenant(flags));
				if (flags.json) return terminal.json(answer);
				const released = Object.entries(answer.released).map(([name, amount]) => `${name} ${amount}`);
				terminal.print(released.length > 0 ? `taken back: ${released.join(", ")}` : "there was nothing to take back");
			});
		},
	);

	subcommand(command, "ledger <id>", "who spent what in this period, the latest report first")
		.option("--limit <number>", "how many per page", numberFlag(1, 1000))
		.option("--cursor <cursor>", "continue after the previous page")
		.action((id: string, _: GuardFlags, self: Command) => {
			const flags = self.optsWithGlobals<GuardFlags & { limit?: number; cursor?: string }>();
			const { limit, cursor } = flags;
			return atServer(context, flags, async (ff) => {
				const page = await ff.budgets.ledger(id, {
					...tenant(flags),
					...(limit === undefined ? undefined : { limit }),
					...(cursor === undefined ? undefined : { cursor }),
				});
				if (flags.json) return terminal.json(page);
				if (page.entries.length === 0) return terminal.note("Nothing was spent in this period.");
				printLedger(terminal, page.entries, Date.now());
				if (page.nextCursor !== undefined) terminal.note(`There is more: --cursor ${page.nextCursor}`);
			});
		});
}

const defining = (command: Command): Command =>
	command
		.option("--hard <dimension=limit>", "no more than this may be spent; may be given several times", limitFlag)
		.option(
			"--soft <dimension=limit>",
			"usage above this is reported, not refused; may be given several times",
			limitFlag,
		)
		.option("--reset <daily|monthly|duration|none>", "how often usage is reset to zero, as in 1h", resetFlag)
		.addOption(
			new Option("--on-hard <what>", "what becomes of running work when a report is refused").choices(
				ON_HARD.filter((each) => each !== "suspend"),
			),
		)
		.option("--label <key=value>", "owner, team and the like; may be given several times", tagFlag);

type Limits = Record<string, { hard?: number | null; soft?: number | null }>;

function limitsOf({ hard = {}, soft = {} }: DefinitionFlags): Limits {
	const limits: Limits = {};
	for (const [name, value] of Object.entries(hard)) limits[name] = { hard: value };
	for (const [name, value] of Object.entries(soft)) limits[name] = { ...limits[name], soft: value };
	return limits;
}

function definition(flags: DefinitionFlags): Pick<CreateBudgetRequest, "dimensions"> {
	const dimensions: CreateBudgetRequest["dimensions"] = {};
	for (const [name, { hard, soft }] of Object.entries(limitsOf(flags))) {
		dimensions[name] = { ...(hard ? { hard } : undefined), ...(soft ? { soft } : undefined) };
	}
	const { reset, onHard, label } = flags;
	return {
		dimensions,
		...(reset === undefined || reset === NONE ? undefined : { resetEvery: reset }),
		...(onHard === undefined ? undefined : { onHard }),
		...(label === undefined ? undefined : { labels: label }),
	};
}

function changes(flags: DefinitionFlags): PatchBudgetRequest {
	const { reset, onHard, label, remove = [] } = flags;
	const dimensions: NonNullable<PatchBudgetRequest["dimensions"]> = limitsOf(flags);
	for (const name of remove) dimensions[name] = null;
	const given = {
		...(Object.keys(dimensions).length > 0 ? { dimensions } : undefined),
		...(reset === undefined ? undefined : { resetEvery: orNull(reset) }),
		...(onHard === undefined ? undefined : { onHard }),
		...(label === undefined ? undefined : { labels: label }),
	};
	if (Object.keys(given).length > 0) return given;
	throw new MisuseError("set: give --hard, --soft, --remove, --reset, --on-hard or --label");
}
