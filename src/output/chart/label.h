#include "output/chart/parts.h"
