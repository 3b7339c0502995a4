import { type Hosted, host } from "../../src/cli/hosting.ts";
import { runCommandLine } from "../../src/cli/program.ts";
import { SERVER_SETTINGS } from "../../src/cli/settings/server-settings.ts";
import { readSettings } from "../../src/cli/settings/setting.ts";
import { FlowFabric } from "../../src/index.ts";
import { silentLog } from "../../src/server/log.ts";

/** What a command said and ended with. */
export interface Said {
	code: number;
	out: string;
	err: string;
}

export interface RunOptions {
	env?: Record<string, string>;
	stdin?: string | Uint8Array;
	/** Whether a person looks on. */
	tty?: boolean;
	/** Columns of that person's terminal; 120 without it. */
	columns?: number;
	/** Whether that person also types what is on standard input. */
	types?: boolean;
	/** When it is typed; at once without it. */
	typesWhen?: Promise<void>;
	/** Told what is written to standard output as it is. */
	onOut?: (all: string) => void;
	onErr?: (all: string) => void;
	/** Asks the command to stop. */
	stop?: AbortSignal;
}

/** Runs one command line in this process. */
export async function runHere(args: readonly string[], options: RunOptions = {}): Promise<Said> {
	const {
		env = {},
		stdin = "",
		tty = false,
		columns = 120,
		types = false,
		typesWhen,
		onOut = () => {},
		onErr = () => {},
		stop,
	} = options;
	const said = { out: "", err: "" };
	const code = await runCommandLine(args, {
		stdout: {
			write(chunk) {
				said.out += Buffer.from(chunk as string).toString();
				onOut(said.out);
			},
			...(tty ? { isTTY: true, columns } : undefined),
		},
		stderr: {
			write(chunk) {
				said.err += Buffer.from(chunk as string).toString();
				onErr(said.err);
			},
			...(tty ? { isTTY: true, columns } : undefined),
		},
		stdin: Object.assign(
			(async function* () {
				await typesWhen;
				yield Buffer.from(stdin as string);
			})(),
			{ isTTY: types },
		),
		env,
		onStop(listener) {
			stop?.addEventListener("abort", listener, { once: true });
			return () => stop?.removeEventListener("abort", listener);
		},
	});
	return { code, ...said };
}

/** A server on an empty store in memory, and the command line pointed at it. */
export class Stage {
	readonly hosted: Hosted;
	readonly ff: FlowFabric;

	private constructor(hosted: Hosted) {
		this.hosted = hosted;
		this.ff = new FlowFabric(hosted.backend);
	}

	static async open(env: Record<string, string> = {}): Promise<Stage> {
		const settings = readSettings(SERVER_SETTINGS, { store: "memory:", listen: "127.0.0.1:0" }, env);
		return new Stage(await host(settings, silentLog()));
	}

	get url(): string {
		return this.hosted.address;
	}

	run(args: readonly string[], options: RunOptions = {}): Promise<Said> {
		return runHere(args, { ...options, env: { FF_URL: this.url, ...options.env } });
	}

	/** Runs a command that must end well and answer with one JSON document. */
	async json<T = Record<string, unknown>>(args: readonly string[], options: RunOptions = {}): Promise<T> {
		const { code, out, err } = await this.run([...args, "--json"], options);
		if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${err}`);
		return JSON.parse(out) as T;
	}

	async close(): Promise<void> {
		await this.ff.close();
		await this.hosted.close();
	}
}
