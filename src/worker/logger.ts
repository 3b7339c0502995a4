/** The part of a logger that FlowFabric uses; pino and console both fit. */
export interface Logger {
	debug(message: string): void;
	info(message: string): void;
	warn(message: string): void;
	error(message: string): void;
}

/** Says only what somebody should look at. */
export const quietLogger: Logger = {
	debug: () => {},
	info: () => {},
	warn: (message) => process.stderr.write(`flowfabric: ${message}\n`),
	error: (message) => process.stderr.write(`flowfabric: ${message}\n`),
};

export function prefixed(log: Logger, prefix: string): Logger {
	return {
		debug: (message) => log.debug(`${prefix} ${message}`),
		info: (message) => log.info(`${prefix} ${message}`),
		warn: (message) => log.warn(`${prefix} ${message}`),
		error: (message) => log.error(`${prefix} ${message}`),
	};
}
