# Every target sets up what it needs; a second run finds it done.
# Values reach Python as the very text that was typed: they are taken unexpanded, travel in the environment, and never
# stand in a command line or in the name of a target.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.SUFFIXES:
MAKEFLAGS += --no-print-directory

VALUES := MODEL A B DATA MANIFEST JUDGE VARIANT SEED FORMAT PROFILE STRICT
unexport $(VALUES)
export GAMUT_MODEL := $(value MODEL)
export GAMUT_A := $(value A)
export GAMUT_B := $(value B)
export GAMUT_DATA := $(value DATA)
export GAMUT_MANIFEST := $(value MANIFEST)
export GAMUT_JUDGE := $(value JUDGE)
export GAMUT_VARIANT := $(value VARIANT)
export GAMUT_SEED := $(value SEED)
export GAMUT_FORMAT := $(value FORMAT)
export GAMUT_PROFILE := $(value PROFILE)
export GAMUT_STRICT := $(value STRICT)
# Compiled modules halve the start of every command; some machines switch them off.
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH VIRTUAL_ENV

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
UV := uv==0.13.9
# make drops blanks in front of a value; its own command line still has them.
GAMUT := GAMUT_MAKE_PID=$$PPID $(BIN)/gamut

.PHONY: help env data test lint lab report reports compare figures site bench coverage clean

help:
	@echo 'gamut-analysis: analysis and reports for GAMUT'
	@echo
	@echo '  make report MODEL=...   one model: reports/<model>/<model>.html   (DATA= MANIFEST= JUDGE= VARIANT= SEED=)'
	@echo '                          FORMAT=pdf: a PDF beside the page (reports and compare too)'
	@echo '  make reports            every model, and an index of them'
	@echo '  make compare A=.. B=..  two models against each other: reports/<A>--vs--<B>/   (not given: the best two)'
	@echo '  make figures            every figure and table: reports/figures, reports/tables   (PROFILE=screen, paper, slides)'
	@echo '  make site               reports, notebooks and figures as a folder for any web host: reports/site'
	@echo '  make lab                JupyterLab on the notebooks'
	@echo '  make data               build the database of the data that ships, or of DATA=folder'
	@echo '  make test               all tests'
	@echo '  make lint               formatting, lint, types, SQL, notebooks without outputs'
	@echo '  make bench              what is timed, against whom'
	@echo '  make coverage           how often intervals cover the truth and tests keep their level (an hour)'
	@echo '  make env                the environment alone (.venv, from requirements.lock)'
	@echo '  make clean              delete what is generated; the environment stays'
	@echo
	@echo 'Each target does all set-up that it needs. Python 3.11 or newer and make are enough to start.'

env: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -I gamut_analysis/bootstrap.py '$(UV)'

data: $(READY)
	@$(GAMUT) build

report: $(READY)
	@$(GAMUT) report

reports: $(READY)
	@$(GAMUT) reports

compare: $(READY)
	@$(GAMUT) compare-report

figures: $(READY)
	@$(GAMUT) figures

site: $(READY)
	@$(GAMUT) site

lab: $(READY)
	@$(GAMUT) build
	@$(BIN)/jupyter lab notebooks

test: $(READY)
	@$(BIN)/python -m pytest -n auto

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/sqlfluff lint --processes 2 --disable-progress-bar gamut_analysis/sql
	@$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb

bench: $(READY)
	@$(BIN)/python -m tests.bench

coverage: $(READY)
	@$(BIN)/python -m tests.coverage

clean: $(READY)
	@$(GAMUT) clean
