import type { Command } from "commander";
import type { Environment } from "../terminal.ts";

/** One thing that can be set: by a flag, else by the environment, else as it is by default. */
export interface Setting<T> {
	env: string;
	/** As in `--store <url>`; none where a flag would show a secret to everybody on the machine. */
	flag?: string;
	about: string;
	/** As somebody would type it; without one the setting may stay unset. */
	byDefault?: string;
	/** Ends the sentence "FF_X: …". */
	allowed: string;
	secret?: true;
	/** What may be shown of a text that is not allowed; all of it unless told otherwise, or something stands before an @. */
	shown?(text: string): string;
	/** The value, or undefined when the text is not allowed. */
	parse(text: string): T | undefined;
}

/** A setting is not valid: names it, the value unless secret, and what is allowed. */
export class SettingError extends Error {
	override name = "SettingError";
	readonly setting: string;
	constructor(setting: string, problem: string) {
		super(`${setting}: ${problem}`);
		this.setting = setting;
	}
}

// biome-ignore lint/suspicious/noExplicitAny: a table of settings of any types
export type SettingTable = Record<string, Setting<any>>;

/** What a table gives: always a value where there is a default. */
export type Values<T extends SettingTable> = {
	[N in keyof T]: T[N] extends { byDefault: string } ? ValueOf<T[N]> : ValueOf<T[N]> | undefined;
};
type ValueOf<S> = S extends { parse(text: string): infer T } ? Exclude<T, undefined> : never;

export function addFlags(command: Command, table: SettingTable): Command {
	for (const { flag, env, about, byDefault } of Object.values(table)) {
		if (flag === undefined) {
			command.addHelpText("after", `\nOnly from the environment:\n  ${env}  ${about}`);
			continue;
		}
		const fallback = byDefault === undefined ? "" : `, else ${byDefault}`;
		command.option(flag, `${about} (else ${env}${fallback})`);
	}
	return command;
}

/** Reads every setting of a table; the first that is not valid stops the start. */
export function readSettings<T extends SettingTable>(table: T, flags: object, env: Environment): Values<T> {
	const values: Record<string, unknown> = {};
	for (const [name, setting] of Object.entries(table)) values[name] = readSetting(setting, flags, env);
	return values as Values<T>;
}

function readSetting<T>(setting: Setting<T>, flags: object, env: Environment): T | undefined {
	const { text, source } = given(setting, flags, env);
	if (text === undefined) return undefined;
	const value = setting.parse(text);
	if (value !== undefined) return value;
	const { secret, allowed, shown = unlessCredentials } = setting;
	throw new SettingError(source, secret ? allowed : `${allowed}, got ${JSON.stringify(shown(text))}`);
}

/** Somebody's URL may end up in any setting. */
const unlessCredentials = (text: string): string => (text.includes("@") ? "…" : text);

/** An empty variable counts as not set, as in `FF_STORE= flowfabric serve`. */
function given(setting: Setting<unknown>, flags: object, env: Environment): { text?: string; source: string } {
	const { flag } = setting;
	if (flag !== undefined) {
		const text = (flags as Record<string, unknown>)[optionName(flag)];
		if (typeof text === "string") return { text, source: flag.split(" ")[0] as string };
	}
	const text = env[setting.env];
	if (text) return { text, source: setting.env };
	return { source: setting.env, ...(setting.byDefault === undefined ? undefined : { text: setting.byDefault }) };
}

/** `--log-level <level>` is `logLevel` among the options commander hands out. */
function optionName(flag: string): string {
	const name = /--([a-z-]+)/.exec(flag)?.[1] ?? "";
	return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
