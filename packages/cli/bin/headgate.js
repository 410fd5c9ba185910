#!/usr/bin/env node
// In the repository, unlike what a build writes: a package manager links the command before anything is built.
import "../dist/esm/headgate.js";
