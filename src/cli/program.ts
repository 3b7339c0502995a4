import { Command, CommanderError } from "commander";
import { VERSION } from "../server/version.ts";
import { type AddCommand, type CommandContext, describeError, exitCodeHelp } from "./command-context.ts";
import { addApprovals } from "./commands/approvals.ts";
import { addApprove } from "./commands/approve.ts";
import { addAttempts } from "./commands/attempts.ts";
import { addBackup } from "./commands/backup.ts";
import { addBench } from "./commands/bench.ts";
import { addBudgets } from "./commands/budgets.ts";
import { addCancel } from "./commands/cancel.ts";
import { addDelete } from "./commands/delete.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEvents } from "./commands/events.ts";
import { addExplain } from "./commands/explain.ts";
import { addFlows } from "./commands/flows.ts";
import { addGet } from "./commands/get.ts";
import { addImport } from "./commands/import.ts";
import { addKeys } from "./commands/keys.ts";
import { addLanes } from "./commands/lanes.ts";
import { addList } from "./commands/list.ts";
import { addPriority } from "./commands/priority.ts";
import { addQuotas } from "./commands/quotas.ts";
import { addReplay } from "./commands/replay.ts";
import { addResume } from "./commands/resume.ts";
import { addRevoke } from "./commands/revoke.ts";
import { addServe } from "./commands/serve.ts";
import { addSignal } from "./commands/signal.ts";
import { addSubmit } from "./commands/submit.ts";
import { addTags } from "./commands/tags.ts";
import { addTail } from "./commands/tail.ts";
import { addWait } from "./commands/wait.ts";
import { addWorkers } from "./commands/workers.ts";
import { EXIT_CODES, type ExitName, exitNameOf, MisuseError } from "./exit-codes.ts";
import { SHORTENED } from "./format/ids.ts";
import { unknownVariables } from "./settings/unknown-variables.ts";
import { type Environment, type Input, type Output, Terminal } from "./terminal.ts";

/** Every command there is, in the order `--help` shows them. A new area is one file and one line here. */
const COMMANDS: readonly AddCommand[] = [
	addServe,
	addDev,
	addSubmit,
	addGet,
	addList,
	addWait,
	addTail,
	addEvents,
	addAttempts,
	addExplain,
	addCancel,
	addReplay,
	addDelete,
	addPriority,
	addTags,
	addRevoke,
	addApprovals,
	addApprove,
	addSignal,
	addResume,
	addFlows,
	addLanes,
	addWorkers,
	addBudgets,
	addQuotas,
	addKeys,
	addBackup,
	addImport,
	addDoctor,
	addBench,
];

/** Commands that have a log. */
const LOGGING = new Set(["serve", "dev"]);

/** The world a command line runs in; a test gives its own. */
export interface World {
	stdout: Output;
	stderr: Output;
	stdin: Input;
	env: Environment;
	onStop(listener: () => void): () => void;
}

/** Runs one command line and says what the process should end with. */
export async function runCommandLine(args: readonly string[], world: World): Promise<number> {
	const terminal = new Terminal(world.stdout, world.stderr, world.env);
	let ended: ExitName = "ok";
	const context: CommandContext = {
		terminal,
		env: world.env,
		stdin: world.stdin,
		onStop: world.onStop,
		end: (how) => {
			ended = how;
		},
	};
	try {
		await makeProgram(context).parseAsync([...args], { from: "user" });
		return EXIT_CODES[ended].code;
	} catch (error) {
		terminal.status("");
		if (error instanceof CommanderError && error.exitCode === 0) return EXIT_CODES.ok.code;
		// Commander prints its help by itself when no command was named; it has nothing more to say then.
		if (error instanceof CommanderError && error.code === "commander.help") return EXIT_CODES.misuse.code;
		const how = error instanceof CommanderError ? "misuse" : exitNameOf(error);
		const exitCode = EXIT_CODES[how].code;
		const { line, body } = describeError(error);
		if (args.includes("--json")) terminal.note(JSON.stringify({ error: body, exitCode }));
		else terminal.note(`${terminal.noteStyle("red", "flowfabric:")} ${line}`);
		return exitCode;
	}
}

export function makeProgram(context: CommandContext): Command {
	const program = new Command("flowfabric")
		.description("Durable execution for long-running work: serve it, submit to it, look into it.")
		.version(VERSION, "-V, --version")
		.exitOverride()
		.configureHelp({ showGlobalOptions: false })
		.configureOutput({
			writeOut: (text) => context.terminal.write(text),
			writeErr(text) {
				for (const line of text.trimEnd().split("\n")) context.terminal.note(line);
			},
			outputError: () => {},
			getOutHelpWidth: () => context.terminal.columns ?? 100,
			getErrHelpWidth: () => 100,
		})
		.addHelpText("after", exitCodeHelp());
	for (const add of COMMANDS) add(program, context);
	program.hook("preAction", (_, command) => {
		context.terminal.fullIds = command.optsWithGlobals()["fullIds"] === true;
		warn(command, context);
		refuseShortened(command.args);
	});
	return program;
}

/** No server can tell which of all its ids ends like that. */
function refuseShortened(args: readonly string[]): void {
	const short = args.find((each) => SHORTENED.test(each));
	if (short !== undefined)
		throw new MisuseError(`${short} is shortened for the screen; list with --full-ids to copy it whole`);
}

/** Of settings that are misspelt; a server says so in its log. */
function warn(command: Command, { terminal, env }: CommandContext): void {
	if (LOGGING.has(command.name())) return;
	for (const warning of unknownVariables(env)) {
		if (command.opts().json) terminal.note(JSON.stringify({ warning }));
		else terminal.note(`${terminal.noteStyle("yellow", "warning:")} ${warning}`);
	}
}
